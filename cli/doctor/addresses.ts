import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { isAllowedAddress } from '#platform/outbound-http/address-rules.ts';
import { type Check, fault, type Finding, warning } from './check.ts';
import { connectionFault, plainAddress } from './connection-faults.ts';

// Addresses that are configured or given: DNS, the way there, and TLS. Nothing is requested of them.

const connectMsMax = 5_000;
/** Let's Encrypt renews 30 days before the end. */
const expiryWarningMs = 14 * 86_400_000;

interface Endpoint {
  readonly socket: Socket;
  /** The end of its certificate; null without TLS. */
  readonly validTo: Date | null;
}

/** Connects, with TLS where the address has it. @throws the error of DNS, the network or TLS */
async function connectTo(address: string, signal: AbortSignal): Promise<Endpoint> {
  const { protocol, hostname, port } = new URL(address);
  const host = hostname.replace(/^\[|\]$/g, '');
  const isTls = protocol === 'https:';
  const at = { host, port: Number(port || (isTls ? 443 : 80)) };
  const socket = isTls ? connectTls({ ...at, servername: /[a-z]/i.test(host) ? host : '' }) : connectTcp(at);
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(connectMsMax)]);
  try {
    await once(socket, isTls ? 'secureConnect' : 'connect', { signal: deadline });
  } catch (error) {
    // A later error of the socket must not end the process.
    socket.on('error', () => {}).destroy();
    throw deadline.aborted && !signal.aborted ? new Error('the connection timed out', { cause: error }) : error;
  }
  const validTo = isTls ? new Date((socket as TLSSocket).getPeerCertificate().valid_to) : null;
  socket.on('error', () => {}).destroy();
  return { socket, validTo };
}

async function addressFindings(variable: string, address: string, signal: AbortSignal): Promise<Finding[]> {
  const what = `${variable}, ${plainAddress(address)}`;
  try {
    const { validTo } = await connectTo(address, signal);
    const leftMs = (validTo?.getTime() ?? Infinity) - Date.now();
    if (leftMs > expiryWarningMs) return [];
    const days = Math.max(0, Math.floor(leftMs / 86_400_000));
    return [warning(`${what}: its TLS certificate expires in ${days} days`, 'renew the certificate')];
  } catch (error) {
    signal.throwIfAborted();
    const found = connectionFault(error, what);
    return [found ?? fault(`${what}: ${(error as Error).message}`, 'correct the address, or the server behind it')];
  }
}

/** From inside, the public address may be out of reach although clients reach it. */
const publicAddress: Check = {
  name: 'public address',
  needs: ['configuration'],
  unless: ({ config }) => (config.baseUrl === '' ? 'this process has no BASE_URL' : null),
  run: async ({ config, signal }) => {
    const findings = await addressFindings('BASE_URL', config.baseUrl, signal);
    return findings.map((finding) =>
      /nothing listens|does not answer/.test(finding.fault) ? { ...finding, level: 'warning' as const } : finding,
    );
  },
};

const otherAddresses: Check = {
  name: 'other addresses',
  needs: ['configuration'],
  run: async ({ config, signal }) => {
    const uploads = 'uploads' in config ? config.uploads : null;
    const named: readonly (readonly [string, string | null | undefined])[] = [
      ['PURGE_HOOK_URL', config.purgeHookUrl],
      ['OTEL_EXPORTER_OTLP_ENDPOINT', config.otlpEndpoint],
      ['UPLOAD_S3_PUBLIC_ENDPOINT', uploads?.publicEndpoint],
    ];
    const given = named.flatMap(([variable, address]) => (address ? [{ variable, address }] : []));
    const found = await Promise.all(given.map(({ variable, address }) => addressFindings(variable, address, signal)));
    return found.flat();
  },
};

/** Receivers of webhooks, as the sender would reach them. */
const receivers: Check = {
  name: 'webhook receivers',
  needs: ['configuration'],
  unless: ({ callbackUrls }) => (callbackUrls.length === 0 ? 'none is given: --callback-url' : null),
  run: async ({ callbackUrls, config, signal }) => {
    const found = await Promise.all(
      callbackUrls.map(async (url) => {
        const refused = await refusedAddress(url, config.webhookAllowedCidrs);
        if (refused === null) return await addressFindings('callback_url', url, signal);
        const remedy = `add a network with ${refused} to WEBHOOK_ALLOWED_CIDRS`;
        return [fault(`callback_url, ${plainAddress(url)}: its address ${refused} is not public`, remedy)];
      }),
    );
    return found.flat();
  },
};

/** The first address of the host to which no webhook is sent; null where DNS has none, which the connection reports. */
async function refusedAddress(url: string, allowedCidrs: readonly string[]): Promise<string | null> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  const addresses = await lookup(host, { all: true }).catch(() => []);
  return addresses.find(({ address }) => !isAllowedAddress(address, allowedCidrs))?.address ?? null;
}

export const addressChecks: readonly Check[] = [publicAddress, otherAddresses, receivers];
