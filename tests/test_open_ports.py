"""Every socket that an engine or a cluster listens on, attacked as a stranger would: without token and secret.

A port that is in no list here fails the test; the table of ports in the documentation has the same rows.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

import jetsql
from jetsql.discovery import read_note
from tests import door_clients
from tests.door_clients.engine import RunningEngine, jetsql as command_line
from tests.engine_confs import CONF
from tests.ports import kind, listeners, refuses_calls, unix_sockets
from tools.cluster import cluster, wait_until

pytestmark = pytest.mark.spark

SECRET = "a-secret-that-nobody-else-may-read"
DRIVER = {"Spark RPC or blocks: secret required": 2, "Py4J gateway: token required": 1}
UDF = "CREATE TEMPORARY FUNCTION nothing AS 'org.apache.hadoop.hive.ql.udf.UDFLength'"
