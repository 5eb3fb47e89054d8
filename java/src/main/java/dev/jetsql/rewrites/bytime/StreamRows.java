package dev.jetsql.rewrites.bytime;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * The rows of one stream that an operator with state reads.
 *
 * @param name the name of the stream in FROM, or null for the only one
 * @param rows the rows
 * @param time the column that Spark compares with the watermark
 * @param condition the condition of the rows that can be in the result, or null for all rows
 */
public record StreamRows(String name, LogicalPlan rows, Attribute time, Expression condition) {}
