package dev.jetsql.kafka.protobuf;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.sparkproject.spark_core.protobuf.CodedInputStream;
import org.sparkproject.spark_core.protobuf.CodedOutputStream;
import org.sparkproject.spark_core.protobuf.Descriptors.Descriptor;
import org.sparkproject.spark_core.protobuf.Descriptors.FileDescriptor;

/**
 * The place of a message's type in its file, which clients of a schema registry write before the
 * message: the index among the messages of the file, then those among the nested messages of each.
 * Their number and the indexes are zigzag varints. A single zero byte is the first message.
 *
 * @param indexes the place
 * @param end the position of the message in the bytes
 */
record MessageIndexes(List<Integer> indexes, int end) {
  private static final int MAX_DEPTH = 100;

  static byte[] encode(Descriptor message) {
    List<Integer> indexes = new ArrayList<>();
    for (Descriptor type = message; type != null; type = type.getContainingType())
      indexes.add(type.getIndex());
    Collections.reverse(indexes);
    if (indexes.equals(List.of(0))) return new byte[1];
    var bytes = new ByteArrayOutputStream();
    try {
      CodedOutputStream out = CodedOutputStream.newInstance(bytes);
      out.writeSInt32NoTag(indexes.size());
      for (int index : indexes) out.writeSInt32NoTag(index);
      out.flush();
    } catch (IOException e) {
      throw new IllegalStateException(e); // an array accepts all bytes
    }
    return bytes.toByteArray();
  }

  /** Returns the indexes that begin at an offset, or null if the bytes have none. */
  static MessageIndexes read(byte[] bytes, int offset) {
    CodedInputStream in = CodedInputStream.newInstance(bytes, offset, bytes.length - offset);
    List<Integer> indexes = new ArrayList<>();
    try {
      int count = in.readSInt32();
      if (count < 0 || count > MAX_DEPTH) return null;
      for (int i = 0; i < count; i++) indexes.add(in.readSInt32());
    } catch (IOException e) {
      return null;
    }
    if (indexes.isEmpty()) indexes.add(0);
    return new MessageIndexes(indexes, offset + in.getTotalBytesRead());
  }

  /** Returns the type of messages at this place of a file, or null if the file has none. */
  Descriptor find(FileDescriptor file) {
    Descriptor found = null;
    for (int index : indexes) {
      List<Descriptor> types = found == null ? file.getMessageTypes() : found.getNestedTypes();
      if (index < 0 || index >= types.size()) return null;
      found = types.get(index);
    }
    return found;
  }
}
