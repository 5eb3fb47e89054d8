package dev.jetsql.kafka.protobuf;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FileDescriptorProto;
import org.sparkproject.spark_core.protobuf.Descriptors.DescriptorValidationException;
import org.sparkproject.spark_core.protobuf.Descriptors.FileDescriptor;

/** Files with descriptors of Protobuf messages that import each other. */
final class DescriptorFiles {
  private final Map<String, FileDescriptorProto> files;
  private final Map<String, FileDescriptor> built;
  private final String hint;

  /**
   * @param files the files by their names
   * @param known files that need not be among them
   * @param hint the end of the message about a missing file
   */
  DescriptorFiles(
      Map<String, FileDescriptorProto> files, Map<String, FileDescriptor> known, String hint) {
    this.files = files;
    this.built = new HashMap<>(known);
    this.hint = hint;
  }

  /** Returns a file with all that it imports. Throws IllegalArgumentException. */
  FileDescriptor build(String name) {
    return build(name, new HashSet<>());
  }

  private FileDescriptor build(String name, Set<String> open) {
    FileDescriptor known = built.get(name);
    if (known != null) return known;
    FileDescriptorProto file = files.get(name);
    if (file == null)
      throw new IllegalArgumentException("it lacks the imported file " + name + hint);
    if (!open.add(name)) throw new IllegalArgumentException("the file " + name + " imports itself");
    FileDescriptor[] imports =
        file.getDependencyList().stream()
            .map(imported -> build(imported, open))
            .toArray(FileDescriptor[]::new);
    try {
      FileDescriptor result = FileDescriptor.buildFrom(file, imports);
      built.put(name, result);
      return result;
    } catch (DescriptorValidationException e) {
      throw new IllegalArgumentException("it is not valid: " + e.getMessage(), e);
    }
  }
}
