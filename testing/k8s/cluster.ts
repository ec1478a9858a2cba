import { randomBytes } from 'node:crypto';
import { KubeConfig } from '@kubernetes/client-node';
import { inject, onTestFinished } from 'vitest';
import { KubeClient } from '#platform/kubernetes/client.ts';
import { type Credentials, kubeConfigCredentials } from '#platform/kubernetes/credentials.ts';
import { namespaces } from './kinds.ts';

/** The server of this run. */
export const server = inject('apiServer');

/** The admin's credentials, for the server itself or for a proxy before it. */
export function adminCredentials(url: string = server.url, user: object = { token: server.adminToken }): Credentials {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'test', server: url, caData: Buffer.from(server.caCert).toString('base64'), skipTLSVerify: false },
    { name: 'test', ...user },
  );
  return kubeConfigCredentials(config);
}

/** Registers what is to be done at the end of a test. */
export type Cleanup = (clean: () => void | Promise<void>) => void;

type ClientOptions = ConstructorParameters<typeof KubeClient>[1];

/** A client that is closed when the test ends. */
export function clientFor(
  credentials: Credentials = adminCredentials(),
  { cleanup = onTestFinished, ...options }: ClientOptions & { readonly cleanup?: Cleanup } = {},
): KubeClient {
  const client = new KubeClient(credentials, options);
  cleanup(() => client.close());
  return client;
}

/** A fresh namespace; with no namespace controller about, it stays until the server goes. */
export async function newNamespace(client: KubeClient): Promise<string> {
  const name = `t-${randomBytes(4).toString('hex')}`;
  await client.create(namespaces, { metadata: { name } });
  return name;
}

export { until } from './eventually.ts';
