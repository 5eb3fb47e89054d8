package dev.jetsql.endpoints;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads private keys in PEM. Java itself reads the form PKCS #8 only; the older forms of RSA (PKCS
 * #1) and elliptic curves (SEC 1) are its content.
 */
final class PrivateKeys {
  private static final Pattern BLOCK =
      Pattern.compile("-----BEGIN ((?:RSA |EC )?)PRIVATE KEY-----([^-]+)-----END", Pattern.DOTALL);
  private static final byte[] VERSION = {2, 1, 0};
  private static final int SEQUENCE = 0x30;
  private static final int OCTETS = 4;

  private PrivateKeys() {}

  /**
   * Returns the private key in a text.
   *
   * @param of the public key, which has the algorithm and the curve
   */
  static PrivateKey read(String pem, PublicKey of) throws GeneralSecurityException {
    Matcher block = BLOCK.matcher(pem);
    if (!block.find()) throw new InvalidKeyException("no private key in PEM is in the file");
    try {
      byte[] content = Base64.getMimeDecoder().decode(block.group(2));
      if (!block.group(1).isEmpty())
        content = element(SEQUENCE, VERSION, algorithm(of), element(OCTETS, content));
      return KeyFactory.getInstance(of.getAlgorithm())
          .generatePrivate(new PKCS8EncodedKeySpec(content));
    } catch (IllegalArgumentException e) {
      throw new InvalidKeyException("the private key is damaged", e);
    }
  }

  /** Throws an exception unless the two keys belong together. */
  static void checkPair(PrivateKey key, PublicKey of) throws GeneralSecurityException {
    var algorithm =
        switch (of.getAlgorithm()) {
          case "RSA" -> "SHA256withRSA";
          case "EC" -> "SHA256withECDSA";
          default -> of.getAlgorithm();
        };
    byte[] message = {1, 2, 3};
    var signing = Signature.getInstance(algorithm);
    signing.initSign(key);
    signing.update(message);
    byte[] signature = signing.sign();
    var verifying = Signature.getInstance(algorithm);
    verifying.initVerify(of);
    verifying.update(message);
    if (!verifying.verify(signature))
      throw new InvalidKeyException("the private key does not belong to the certificate");
  }

  /** Returns the algorithm as X.509 has it: the first element in a public key. */
  private static byte[] algorithm(PublicKey of) {
    ByteBuffer key = ByteBuffer.wrap(of.getEncoded());
    length(key.position(1));
    int begin = key.position();
    int length = length(key.position(begin + 1));
    byte[] found = new byte[key.position() + length - begin];
    key.position(begin).get(found);
    return found;
  }

  /** Reads the length of an element of DER. */
  private static int length(ByteBuffer from) {
    int first = from.get() & 0xff;
    if (first < 0x80) return first;
    int length = 0;
    for (int bytes = first & 0x7f; bytes > 0; bytes--) length = (length << 8) | (from.get() & 0xff);
    return length;
  }

  /** Returns an element of DER with these parts. */
  private static byte[] element(int tag, byte[]... parts) {
    var content = new ByteArrayOutputStream();
    for (byte[] part : parts) content.writeBytes(part);
    var element = new ByteArrayOutputStream();
    element.write(tag);
    int length = content.size();
    if (length >= 0x100) {
      element.write(0x82); // two bytes of the length
      element.write(length >> 8);
    } else if (length >= 0x80) element.write(0x81);
    element.write(length & 0xff);
    element.writeBytes(content.toByteArray());
    return element.toByteArray();
  }
}
