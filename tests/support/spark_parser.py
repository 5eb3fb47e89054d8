"""Spark's own lexer and parser in a JVM without an engine, to compare what Spark reads in two texts."""

from __future__ import annotations

import os
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from jetsql.engine.jvm.java_classes import jar


class SparkParser:
    """Spark's parser in a process of its own, which ends with this one."""

    def __init__(self) -> None:
        """Start the JVM."""
        jars = os.path.join(os.path.dirname(pyspark.__file__), "jars", "*")
        options = ["-Xmx400m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        options += [
            f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in ("java.lang", "java.util", "java.nio", "sun.nio.ch")
        ]
        port = launch_gateway(classpath=f"{jars}{os.pathsep}{jar()}", javaopts=options, die_on_exit=True)
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_field=True))
        jvm: Any = self._gateway.jvm
        self._streams = jvm.org.antlr.v4.runtime.CharStreams
        self._antlr = jvm.org.apache.spark.sql.catalyst.parser
        self._parser = jvm.org.apache.spark.sql.execution.SparkSqlParser()
        self._flink = jvm.dev.jetsql.flink.FlinkText
        self._hidden = {self._antlr.SqlBaseLexer.SIMPLE_COMMENT, self._antlr.SqlBaseLexer.BRACKETED_COMMENT}
        self._space = self._antlr.SqlBaseLexer.WS
        jvm.org.apache.spark.sql.internal.SQLConf.get().setConfString("spark.sql.debug.maxToStringFields", "100000")

    def tokens(self, text: str) -> list[tuple[int, str]]:
        """Return the types and texts of the tokens and comments, without white space and the ends of lines."""
        lexer = self._antlr.SqlBaseLexer(self._antlr.UpperCaseCharStream(self._streams.fromString(text)))
        lexer.removeErrorListeners()
        found = ((token.getType(), token.getText()) for token in lexer.getAllTokens())
        return [
            (kind, part.rstrip("\r\n") if kind in self._hidden else part) for kind, part in found if kind != self._space
        ]

    def plan(self, text: str) -> str | None:
        """Return the plan of a statement as a text, or None if Spark refuses it."""
        try:
            return str(self._parser.parsePlan(text).toString())
        except Exception:  # of Java
            return None

    def flink_error(self, text: str) -> tuple[str, int] | None:
        """Return the message and the column, from 0, of an error in Flink's clauses; None for a text without one."""
        try:
            self._flink.toSpark(text)
        except Py4JJavaError as error:
            thrown = error.java_exception
            return str(thrown.getMessage()), int(thrown.startPosition().get())
        return None

    def raw_rules(self) -> dict[str, int]:
        """Return the number of places in each rule of the grammar at which any token is taken as text."""
        atn, names = self._antlr.SqlBaseParser._ATN, list(self._antlr.SqlBaseParser.ruleNames)
        counts: dict[str, int] = {}
        for number in range(atn.states.size()):
            state = atn.states.get(number)
            for index in range(state.getNumberOfTransitions() if state is not None else 0):
                if state.transition(index).getClass().getSimpleName() == "WildcardTransition":
                    counts[names[state.ruleIndex]] = counts.get(names[state.ruleIndex], 0) + 1
        return counts

    def close(self) -> None:
        """End the JVM."""
        self._gateway.shutdown()
