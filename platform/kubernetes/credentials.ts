import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { delimiter, join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';

/** The TLS settings by which client and API server trust each other. */
export interface TlsMaterial {
  ca?: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
  servername?: string;
  rejectUnauthorized?: boolean;
}

/** The current credentials: headers for each request, and TLS settings for each connection. */
export interface Access {
  headers: Record<string, string>;
  tls: TlsMaterial;
}

/** The address of an API server and its credentials; tokens and certificates may change while the process runs. */
export interface Credentials {
  /** The server's URL; it may have a path, as behind Rancher. */
  readonly server: string;
  /** The proxy in front of it, if any (http or https). */
  readonly proxy?: string;
  /**
   * Reads files and calls helpers as needed. `isRefused`: the last result got a 401, so nothing of it may be reused.
   */
  access(isRefused: boolean): Promise<Access>;
}

/**
 * From client-node's configuration: certificates, tokens, token files, exec plugins and auth providers. Throws when its
 * current context names no cluster, or names a SOCKS proxy, which this client does not support.
 */
export function kubeConfigCredentials(config: KubeConfig): Credentials {
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`the kubeconfig's context "${config.getCurrentContext()}" names no cluster`);
  if (cluster.proxyUrl?.startsWith('socks')) throw new Error(`a SOCKS proxy is not supported: ${cluster.proxyUrl}`);
  let current = config;
  return {
    server: cluster.server,
    ...(cluster.proxyUrl === undefined ? {} : { proxy: cluster.proxyUrl }),
    access: async (isRefused) => {
      if (isRefused) current = withoutCaches(config);
      const options: RequestOptions = {};
      await current.applyToHTTPSOptions(options);
      return { headers: headersOf(options), tls: tlsOf(options) };
    },
  };
}

/** From kubeconfig files: a path, or several as in KUBECONFIG; the current context is the one of the first. */
export async function kubeConfigFileCredentials(paths: string): Promise<Credentials> {
  // Loaded only here: it takes 85 MB and more than a second (measured), and a pod's service account does not need it.
  const { KubeConfig } = await import('@kubernetes/client-node');
  const [first, ...others] = paths.split(delimiter).filter((path) => path !== '');
  if (first === undefined) throw new Error('no kubeconfig file was named');
  const config = new KubeConfig();
  config.loadFromFile(first);
  for (const path of others) {
    const other = new KubeConfig();
    other.loadFromFile(path);
    config.mergeConfig(other, true);
  }
  return kubeConfigCredentials(config);
}

/**
 * A pod's own service account. `host` and `port` are KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT; `folder` is
 * where the kubelet mounts and renews `token` and `ca.crt`: both are read again for each call.
 */
export function serviceAccountCredentials({
  host,
  port,
  folder = '/var/run/secrets/kubernetes.io/serviceaccount',
}: {
  host: string;
  port: string;
  folder?: string;
}): Credentials {
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    access: async () => {
      const [token, ca] = await Promise.all([
        readFile(join(folder, 'token'), 'utf8'),
        readFile(join(folder, 'ca.crt'), 'utf8'),
      ]);
      return { headers: { authorization: `Bearer ${token.trim()}` }, tls: { ca } };
    },
  };
}

// client-node's authenticators cache an exec plugin's token and a token file's content, and have no way to drop them: a
// new configuration with the same content has new ones.
function withoutCaches(config: KubeConfig): KubeConfig {
  const Config = config.constructor as new () => KubeConfig;
  const fresh = new Config();
  fresh.loadFromOptions({
    clusters: config.getClusters(),
    contexts: config.getContexts(),
    users: config.getUsers(),
    currentContext: config.getCurrentContext(),
  });
  return fresh;
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // A token file commonly ends in a newline, which no header may hold.
    if (value !== undefined) headers[name.toLowerCase()] = String(value).trim();
  }
  if (options.auth) headers['authorization'] ??= `Basic ${Buffer.from(options.auth).toString('base64')}`;
  return headers;
}

function tlsOf({ ca, cert, key, servername, rejectUnauthorized }: RequestOptions): TlsMaterial {
  const tls: TlsMaterial = {};
  if (isMaterial(ca)) tls.ca = ca;
  if (isMaterial(cert)) tls.cert = cert;
  if (isMaterial(key)) tls.key = key;
  if (servername !== undefined) tls.servername = servername;
  if (rejectUnauthorized !== undefined) tls.rejectUnauthorized = rejectUnauthorized;
  return tls;
}

function isMaterial(value: unknown): value is string | Buffer {
  return typeof value === 'string' || Buffer.isBuffer(value);
}
