package dev.jetsql.kafka.protobuf;

import dev.jetsql.kafka.registry.SchemaReader;
import dev.jetsql.kafka.registry.SchemaType;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.sparkproject.spark_core.protobuf.AnyProto;
import org.sparkproject.spark_core.protobuf.ApiProto;
import org.sparkproject.spark_core.protobuf.DescriptorProtos;
import org.sparkproject.spark_core.protobuf.DescriptorProtos.FileDescriptorProto;
import org.sparkproject.spark_core.protobuf.Descriptors.FileDescriptor;
import org.sparkproject.spark_core.protobuf.DurationProto;
import org.sparkproject.spark_core.protobuf.EmptyProto;
import org.sparkproject.spark_core.protobuf.FieldMaskProto;
import org.sparkproject.spark_core.protobuf.InvalidProtocolBufferException;
import org.sparkproject.spark_core.protobuf.SourceContextProto;
import org.sparkproject.spark_core.protobuf.StructProto;
import org.sparkproject.spark_core.protobuf.TimestampProto;
import org.sparkproject.spark_core.protobuf.TypeProto;
import org.sparkproject.spark_core.protobuf.WrappersProto;

/** Reads the Protobuf schemas of a registry, which returns them as descriptors in Base64. */
public final class ProtobufSchemas implements SchemaReader<FileDescriptor> {
  private static final long serialVersionUID = 1L;
  // No import can have this name, which is that of the schema itself.
  private static final String MAIN = "";
  // It declares options only, and Confluent's registry knows it without a reference.
  private static final String OPTIONS_ONLY = "confluent/meta.proto";
  private static final Map<String, FileDescriptor> KNOWN = known();

  private static Map<String, FileDescriptor> known() {
    Map<String, FileDescriptor> files = new HashMap<>();
    FileDescriptor[] all = {
      AnyProto.getDescriptor(),
      ApiProto.getDescriptor(),
      DescriptorProtos.getDescriptor(),
      DurationProto.getDescriptor(),
      EmptyProto.getDescriptor(),
      FieldMaskProto.getDescriptor(),
      SourceContextProto.getDescriptor(),
      StructProto.getDescriptor(),
      TimestampProto.getDescriptor(),
      TypeProto.getDescriptor(),
      WrappersProto.getDescriptor()
    };
    for (FileDescriptor file : all) files.put(file.getName(), file);
    return files;
  }

  @Override
  public SchemaType type() {
    return SchemaType.PROTOBUF;
  }

  @Override
  public FileDescriptor read(Document document, Lookup lookup) {
    Map<String, FileDescriptorProto> files = new HashMap<>();
    add(MAIN, document, lookup, files);
    String hint = ". Register it, and add it to the references of the schema";
    return new DescriptorFiles(files, KNOWN, hint).build(MAIN);
  }

  private static void add(
      String name, Document document, Lookup lookup, Map<String, FileDescriptorProto> to) {
    to.put(name, file(document.text(), name));
    for (Reference reference : document.references()) {
      boolean isKnown = KNOWN.containsKey(reference.name()) || to.containsKey(reference.name());
      if (!isKnown) add(reference.name(), lookup.find(reference), lookup, to);
    }
  }

  private static FileDescriptorProto file(String text, String name) {
    FileDescriptorProto registered = parse(text);
    // Registries give a schema a name of their own; other files import it by the reference's name.
    FileDescriptorProto.Builder file =
        registered.toBuilder()
            .setName(name)
            .clearDependency()
            .clearPublicDependency()
            .clearWeakDependency();
    for (int i = 0; i < registered.getDependencyCount(); i++) {
      if (registered.getDependency(i).equals(OPTIONS_ONLY)) continue;
      if (registered.getPublicDependencyList().contains(i))
        file.addPublicDependency(file.getDependencyCount());
      file.addDependency(registered.getDependency(i));
    }
    return file.build();
  }

  private static FileDescriptorProto parse(String text) {
    try {
      return FileDescriptorProto.parseFrom(Base64.getDecoder().decode(text));
    } catch (IllegalArgumentException | InvalidProtocolBufferException e) {
      throw new IllegalArgumentException(
          "the registry does not return it as a descriptor (?format=serialized). Use a registry"
              + " that does (Confluent Schema Registry, Karapace, Redpanda from 25.2), or register"
              + " the schema as a descriptor in Base64",
          e);
    }
  }
}
