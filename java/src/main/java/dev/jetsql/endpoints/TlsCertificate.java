package dev.jetsql.endpoints;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.X509ExtendedKeyManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The certificate of the endpoints for Spark Connect and Thrift. Its files are checked for changes
 * when a client connects, so a renewed certificate serves the next connection, and the open ones
 * continue. A renewed certificate that is not usable is reported in the log, and the old one stays.
 *
 * <p>The private key stays in the file of the user and in memory: no copy of it is written.
 */
public final class TlsCertificate extends X509ExtendedKeyManager {
  private static final Logger LOG = LoggerFactory.getLogger(TlsCertificate.class);
  static final String[] PROTOCOLS = {"TLSv1.3", "TLSv1.2"};

  /** Those with forward secrecy and authenticated encryption, as at the HTTP endpoint. */
  private static final String[] CIPHERS = {
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
  };

  /** A certificate with its key, and the name by which a handshake asks for them. */
  private record Loaded(String alias, List<X509Certificate> chain, PrivateKey key) {}

  private final Path certificate;
  private final Path key;
  private final SSLContext context = SSLContext.getInstance("TLS");
  private volatile List<Object> state;
  private volatile Loaded loaded;

  /** The certificate before the last renewal, for handshakes that have begun with it. */
  private volatile Loaded previous;

  /** Reads the files, both in PEM. */
  public static TlsCertificate read(String certificate, String key)
      throws IOException, GeneralSecurityException {
    return new TlsCertificate(certificate, key);
  }

  private TlsCertificate(String certificate, String key)
      throws IOException, GeneralSecurityException {
    this.certificate = Path.of(certificate);
    this.key = Path.of(key);
    this.state = state();
    this.loaded = load(0);
    context.init(new KeyManager[] {this}, null, null);
  }

  /** Returns the TLS connection of a server over one that it has accepted. It reads nothing yet. */
  SSLSocket accept(Socket accepted) throws IOException {
    var socket =
        (SSLSocket) context.getSocketFactory().createSocket(accepted, null, true); // of a server
    var parameters = new SSLParameters(CIPHERS, PROTOCOLS);
    parameters.setUseCipherSuitesOrder(true);
    socket.setSSLParameters(parameters);
    return socket;
  }

  /** Returns what changes when a file is replaced or written; nothing if one is missing. */
  private List<Object> state() {
    List<Object> found = new ArrayList<>();
    try {
      for (Path file : List.of(certificate, key))
        found.addAll(
            Files.readAttributes(file, "unix:dev,ino,size,lastModifiedTime,ctime").values());
      return found;
    } catch (IOException e) {
      return List.of();
    }
  }

  /** Reads the files again if they have changed. */
  private synchronized Loaded current() {
    List<Object> now = state();
    if (now.equals(state)) return loaded;
    state = now;
    try {
      Loaded renewed = load(Integer.parseInt(loaded.alias()) + 1);
      previous = loaded;
      loaded = renewed;
      LOG.info("Spark Connect and Thrift use the new certificate {}", certificate);
    } catch (IOException | GeneralSecurityException e) {
      LOG.error(
          "Spark Connect and Thrift still use the last certificate, because the new one is not"
              + " usable: {}",
          e.toString());
    }
    return loaded;
  }

  private Loaded load(int number) throws IOException, GeneralSecurityException {
    var read = CertificateFactory.getInstance("X.509");
    var bytes = Files.readAllBytes(certificate);
    List<X509Certificate> chain = new ArrayList<>();
    for (var each : read.generateCertificates(new ByteArrayInputStream(bytes)))
      chain.add((X509Certificate) each);
    if (chain.isEmpty()) throw new GeneralSecurityException("no certificate is in the file");
    X509Certificate own = chain.get(0);
    own.checkValidity();
    var text = Files.readString(key, StandardCharsets.ISO_8859_1);
    PrivateKey found = PrivateKeys.read(text, own.getPublicKey());
    PrivateKeys.checkPair(found, own.getPublicKey());
    return new Loaded(Integer.toString(number), chain, found);
  }

  private String alias(String keyType) {
    Loaded current = current();
    return keyType.equals(current.key().getAlgorithm()) ? current.alias() : null;
  }

  private Loaded of(String alias) {
    Loaded before = previous;
    return before != null && before.alias().equals(alias) ? before : loaded;
  }

  @Override
  public String chooseEngineServerAlias(String keyType, Principal[] issuers, SSLEngine engine) {
    return alias(keyType);
  }

  @Override
  public String chooseServerAlias(String keyType, Principal[] issuers, Socket socket) {
    return alias(keyType);
  }

  @Override
  public String[] getServerAliases(String keyType, Principal[] issuers) {
    String alias = alias(keyType);
    return alias == null ? null : new String[] {alias};
  }

  @Override
  public X509Certificate[] getCertificateChain(String alias) {
    return of(alias).chain().toArray(X509Certificate[]::new);
  }

  @Override
  public PrivateKey getPrivateKey(String alias) {
    return of(alias).key();
  }

  @Override
  public String chooseClientAlias(String[] keyType, Principal[] issuers, Socket socket) {
    return null;
  }

  @Override
  public String[] getClientAliases(String keyType, Principal[] issuers) {
    return null;
  }
}
