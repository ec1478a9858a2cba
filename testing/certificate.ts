import { getCACertificates, setDefaultCACertificates } from 'node:tls';

// A self-signed certificate for 127.0.0.1 and localhost, valid until 2126, for servers that tests start.

export const certificate = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIULZrFGImrG1ZEc7cUalQZnCJ+nt0wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjA5MDcxN1oYDzIxMjYxMDI5
MDkwNzE3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARnzuubqY1nItXXkK+8jkx3HuQV74JuOopT9oXcsxN5C1Y5aPm5N1r0
cBKMTlrcEi5CScOeyf2/6hJE2N+/q38Uo28wbTAdBgNVHQ4EFgQUOFOp9UAyrn7E
7K096b0CnhavbkIwHwYDVR0jBBgwFoAUOFOp9UAyrn7E7K096b0CnhavbkIwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARhwR/AAABgglsb2NhbGhvc3QwCgYIKoZI
zj0EAwIDSQAwRgIhAITyp9zsmgAqhKI+kDDGbWtQ8ouxcuf7rh4EZnWkw9WrAiEA
i1bMfDlLxCBOuVnBv+MLSvTH4VMFl5kbsduy2iofVMQ=
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg4oLTsiZry2Mgxt28
JUDkISCX5MEKmkEhHuZwKku5/26hRANCAARnzuubqY1nItXXkK+8jkx3HuQV74Ju
OopT9oXcsxN5C1Y5aPm5N1r0cBKMTlrcEi5CScOeyf2/6hJE2N+/q38U
-----END PRIVATE KEY-----
`,
} as const;

/**
 * Makes this process trust the certificate, as `NODE_EXTRA_CA_CERTS` would, until the returned function is called: test
 * files share processes, and one of them needs an authority that is unknown.
 */
export function trustCertificate(): () => void {
  const before = getCACertificates();
  setDefaultCACertificates([...before, certificate.cert]);
  return () => setDefaultCACertificates(before);
}
