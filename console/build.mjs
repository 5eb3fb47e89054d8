// Build the console's scripts and styles into jetsql/console/assets, with a record of the sources that they come from.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync, rmSync, mkdirSync, copyFileSync } from "node:fs";
import { join, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "..", "jetsql", "console", "assets");

const SOURCES = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json", "src", "static"];
const ENTRIES = ["theme.ts", "console.ts", "console.css", "job.ts", "job.css", "sql.ts", "sql.css"];

function sourceFiles() {
  const found = [];
  for (const name of SOURCES) {
    const entries = name.includes(".") ? [name] : readdirSync(join(here, name)).map((file) => `${name}/${file}`);
    found.push(...entries);
  }
  return found.sort();
}

function sha256(path) {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
await esbuild.build({
  absWorkingDir: here,
  entryPoints: ENTRIES.map((name) => `src/${name}`),
  outdir: target,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "eof",
  logLevel: "warning",
});
for (const name of readdirSync(join(here, "static"))) copyFileSync(join(here, "static", name), join(target, name));

const record = {
  sources: Object.fromEntries(sourceFiles().map((name) => [name, sha256(join(here, name))])),
  assets: Object.fromEntries(readdirSync(target).sort().map((name) => [name, sha256(join(target, name))])),
};
writeFileSync(join(target, "built.json"), JSON.stringify(record, null, 1) + "\n");
