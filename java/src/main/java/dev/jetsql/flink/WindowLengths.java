package dev.jetsql.flink;

import java.io.Serializable;

/**
 * The lengths of the windows of a call, in microseconds.
 *
 * @param size the length of a window
 * @param slide the time from the beginning of a window to that of the next one
 * @param offset the time from 1970-01-01 00:00:00 to the beginning of a window
 */
public record WindowLengths(long size, long slide, long offset) implements Serializable {}
