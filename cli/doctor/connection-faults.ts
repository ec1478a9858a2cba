import { fault, type Finding } from './check.ts';

// Why a connection cannot be made, by the code of the system or of TLS: one table for every server.

interface Row {
  readonly codes: readonly string[];
  readonly what: string;
  readonly remedy: string;
}

/** Stands for an answer that is of no server of this kind. */
const anotherProgram = 'ANOTHER_PROGRAM';

const rows: readonly Row[] = [
  {
    codes: ['ENOTFOUND', 'EAI_AGAIN', 'EAI_NONAME'],
    what: 'its host name is unknown to DNS',
    remedy: 'correct the host, or the DNS of this machine',
  },
  {
    codes: ['ECONNREFUSED'],
    what: 'nothing listens there',
    remedy: 'start the server, or correct host and port',
  },
  {
    codes: ['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'TimeoutError'],
    what: 'it does not answer',
    remedy: 'open the way to it in firewalls and NetworkPolicies, or correct host and port',
  },
  {
    codes: ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'],
    what: 'it closes the connection',
    remedy: 'look whether another program listens there, and at its log: it may expect TLS, or refuse this address',
  },
  {
    codes: [anotherProgram],
    what: 'another program listens there',
    remedy: 'correct host and port',
  },
  {
    codes: ['CERT_HAS_EXPIRED'],
    what: 'its TLS certificate has expired',
    remedy: 'renew the certificate of the server',
  },
  {
    codes: ['CERT_NOT_YET_VALID'],
    what: 'its TLS certificate is not valid yet',
    remedy: 'set the clock of this machine, or replace the certificate',
  },
  {
    codes: [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    ],
    what: 'its TLS certificate is of an unknown authority',
    remedy: 'name the certificates of the authority in NODE_EXTRA_CA_CERTS, in the chart by caBundle',
  },
  {
    codes: ['ERR_TLS_CERT_ALTNAME_INVALID'],
    what: 'its TLS certificate is for another host',
    remedy: 'use a host name that the certificate has, or replace the certificate',
  },
  {
    codes: ['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'],
    what: 'it does not speak TLS there',
    remedy: 'use the port for TLS, or an address without TLS',
  },
];

/** The finding of a connection that failed; null where the error is of another kind. `what`: variable and address. */
export function connectionFault(error: unknown, what: string): Finding | null {
  const codes = codesOf(error);
  const row = rows.find((each) => each.codes.some((code) => codes.includes(code)));
  return row === undefined ? null : fault(`${what}: ${row.what}`, row.remedy);
}

/** The codes, names and timeouts of an error, of its causes and of the errors that it gathers. */
function codesOf(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > 8) return [];
  const { code, errors = [] } = error as { code?: unknown; errors?: readonly unknown[] };
  const isTimeout = /\btime(?:d )?out\b|exceeded its deadline|ETIMEDOUT/i.test(error.message);
  const isOther = /Unknown RESP type|invalid response: |Protocol error, got|Parse Error|Deserialization error/i.test(
    error.message,
  );
  return [
    ...(typeof code === 'string' ? [code] : []),
    error.name,
    ...[error.cause, ...errors].flatMap((inner) => codesOf(inner, depth + 1)),
    ...(isTimeout ? ['TimeoutError'] : []),
    ...(isOther ? [anotherProgram] : []),
  ];
}

/** An address as a message shows it: without user, password and query. */
export function plainAddress(text: string): string {
  if (!URL.canParse(text)) return 'an address that is no URL';
  const { protocol, host, pathname } = new URL(text);
  return `${protocol}//${host}${pathname}`;
}
