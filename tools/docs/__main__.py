"""Write what the documentation has from the code: `python -m tools.docs`."""

from tools.docs.parts import ROOT, generated_files


def main() -> None:
    for path, text in generated_files().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(ROOT))  # noqa: T201  # which files have changed


if __name__ == "__main__":
    main()
