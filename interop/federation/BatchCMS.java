// Signs and verifies a federation's batch with BouncyCastle, as the Java back ends did.
//
//     java -cp bcprov.jar:bcutil.jar:bcpkix.jar BatchCMS.java sign CERTIFICATE KEY CONTENT SIGNATURE
//     java -cp bcprov.jar:bcutil.jar:bcpkix.jar BatchCMS.java verify CONTENT SIGNATURE
//
// Certificate and key are PEM, the key PKCS #8; content and signature are files of bytes. `sign` writes BER with indefinite
// lengths, which is what BouncyCastle writes unless it is told otherwise. `verify` ends with status 1 when the signature
// does not verify under the certificate inside.

import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import org.bouncycastle.asn1.pkcs.PrivateKeyInfo;
import org.bouncycastle.cert.X509CertificateHolder;
import org.bouncycastle.cert.jcajce.JcaCertStore;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cms.CMSProcessableByteArray;
import org.bouncycastle.cms.CMSSignedData;
import org.bouncycastle.cms.CMSSignedDataGenerator;
import org.bouncycastle.cms.SignerInformation;
import org.bouncycastle.cms.jcajce.JcaSignerInfoGeneratorBuilder;
import org.bouncycastle.cms.jcajce.JcaSimpleSignerInfoVerifierBuilder;
import org.bouncycastle.openssl.PEMParser;
import org.bouncycastle.openssl.jcajce.JcaPEMKeyConverter;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.bouncycastle.operator.jcajce.JcaDigestCalculatorProviderBuilder;

public class BatchCMS {
  public static void main(String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "sign" -> sign(arguments);
      case "verify" -> System.exit(verifies(arguments) ? 0 : 1);
      default -> System.exit(64);
    }
  }

  private static void sign(String[] arguments) throws Exception {
    X509CertificateHolder holder = (X509CertificateHolder) pem(arguments[1]);
    X509Certificate certificate = new JcaX509CertificateConverter().getCertificate(holder);
    PrivateKey key = new JcaPEMKeyConverter().getPrivateKey((PrivateKeyInfo) pem(arguments[2]));
    String algorithm = key.getAlgorithm().equals("RSA") ? "SHA256withRSA" : "SHA256withECDSA";
    CMSSignedDataGenerator generator = new CMSSignedDataGenerator();
    generator.addSignerInfoGenerator(
        new JcaSignerInfoGeneratorBuilder(new JcaDigestCalculatorProviderBuilder().build())
            .build(new JcaContentSignerBuilder(algorithm).build(key), certificate));
    generator.addCertificates(new JcaCertStore(List.of(certificate)));
    CMSSignedData signed =
        generator.generate(new CMSProcessableByteArray(Files.readAllBytes(Path.of(arguments[3]))), false);
    Files.write(Path.of(arguments[4]), signed.getEncoded());
  }

  private static boolean verifies(String[] arguments) throws Exception {
    CMSProcessableByteArray content = new CMSProcessableByteArray(Files.readAllBytes(Path.of(arguments[1])));
    CMSSignedData signed = new CMSSignedData(content, Files.readAllBytes(Path.of(arguments[2])));
    SignerInformation signer = signed.getSignerInfos().getSigners().iterator().next();
    @SuppressWarnings("unchecked")
    Collection<X509CertificateHolder> found = signed.getCertificates().getMatches(signer.getSID());
    X509Certificate certificate = new JcaX509CertificateConverter().getCertificate(found.iterator().next());
    try {
      return signer.verify(new JcaSimpleSignerInfoVerifierBuilder().build(certificate));
    } catch (org.bouncycastle.cms.CMSException refusal) {
      System.err.println(refusal.getMessage());
      return false;
    }
  }

  private static Object pem(String file) throws Exception {
    try (PEMParser parser = new PEMParser(new StringReader(Files.readString(Path.of(file))))) {
      return parser.readObject();
    }
  }
}
