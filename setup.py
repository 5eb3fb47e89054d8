"""The packages of the distribution: all below jetsql/, and two that the setting package-dir finds elsewhere.

`setuptools.packages.find` in pyproject.toml would find the folders of one place only.
"""

from setuptools import find_packages, setup

setup(packages=["dbt.adapters.jetsql", "jetsql.grammar", *find_packages(include=["jetsql", "jetsql.*"])])
