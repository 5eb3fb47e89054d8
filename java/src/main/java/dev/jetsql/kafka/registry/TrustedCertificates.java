package dev.jetsql.kafka.registry;

import dev.jetsql.common.Exceptions;
import dev.jetsql.common.JetSqlException;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * The certificates of a trust store. The driver reads the file; executors receive the certificates,
 * so that they need neither the file nor its password.
 *
 * @param encoded the certificates in Base64
 */
record TrustedCertificates(List<String> encoded) implements Serializable {
  private static final String PEM = "-----BEGIN CERTIFICATE-----";
  private static final long MAX_BYTES = 16 << 20;

  /**
   * Reads a trust store: a PEM file, or a keystore that Java can read. Throws SOURCE_NOT_READY.
   *
   * @param password null for none
   */
  static TrustedCertificates read(String file, String password, SchemaType type) {
    try {
      Path path = Path.of(file);
      if (Files.size(path) > MAX_BYTES)
        throw notReadable(file, "it is larger than 16 MiB", type, null);
      byte[] content = Files.readAllBytes(path);
      boolean isPem = new String(content, StandardCharsets.ISO_8859_1).contains(PEM);
      var certificates = isPem ? pem(content) : keystore(path.toFile(), password);
      if (certificates.isEmpty())
        throw notReadable(file, "it has no trusted certificate", type, null);
      List<String> encoded = new ArrayList<>();
      for (Certificate certificate : certificates)
        encoded.add(Base64.getEncoder().encodeToString(certificate.getEncoded()));
      return new TrustedCertificates(new ArrayList<>(encoded));
    } catch (IOException | GeneralSecurityException e) {
      String detail = e.getMessage() == null ? "" : ": " + e.getMessage();
      throw notReadable(file, e.getClass().getSimpleName() + detail, type, e);
    }
  }

  private static Collection<? extends Certificate> pem(byte[] content)
      throws GeneralSecurityException {
    return CertificateFactory.getInstance("X.509")
        .generateCertificates(new ByteArrayInputStream(content));
  }

  private static List<Certificate> keystore(File file, String password)
      throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance(file, password == null ? null : password.toCharArray());
    List<Certificate> certificates = new ArrayList<>();
    for (String alias : Collections.list(store.aliases()))
      if (store.isCertificateEntry(alias)) certificates.add(store.getCertificate(alias));
    return certificates;
  }

  private static RuntimeException notReadable(
      String file, String reason, SchemaType type, Exception cause) {
    var error =
        JetSqlException.of(
            "SOURCE_NOT_READY",
            "42501",
            "Cannot read the trust store "
                + file
                + " of the schema registry: "
                + reason
                + ". Check '"
                + RegistryOptions.option(type, RegistryOptions.TRUST_STORE)
                + "' and '"
                + RegistryOptions.option(type, RegistryOptions.TRUST_PASSWORD)
                + "' in the table's OPTIONS.");
    if (cause != null) error.addSuppressed(cause);
    throw Exceptions.raise(error);
  }

  /** Returns a TLS context that trusts these certificates only. */
  SSLContext context() {
    try {
      KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      CertificateFactory factory = CertificateFactory.getInstance("X.509");
      for (int i = 0; i < encoded.size(); i++) {
        byte[] bytes = Base64.getDecoder().decode(encoded.get(i));
        InputStream certificate = new ByteArrayInputStream(bytes);
        store.setCertificateEntry("trusted" + i, factory.generateCertificate(certificate));
      }
      var managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      managers.init(store);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, managers.getTrustManagers(), null);
      return context;
    } catch (IOException | GeneralSecurityException e) {
      throw Exceptions.raise(e);
    }
  }
}
