import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { X509Certificate } from 'node:crypto';
import { createServer as createPlainServer } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect, type Server } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { describe, expect, onTestFinished, test } from 'vitest';
import { kubeConfigCredentials } from '#platform/kubernetes/credentials.ts';
import { KubeError } from '#platform/kubernetes/errors.ts';
import { adminCredentials, clientFor, server } from '../../testing/k8s/cluster.ts';
import { FaultyProxy } from '../../testing/k8s/faulty-proxy.ts';
import { namespaces } from '../../testing/k8s/kinds.ts';

describe('credentials', () => {
  test('a token file is read again once its token is refused', async () => {
    const folder = await tempFolder();
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, `${server.adminToken}\n`);
    const user = { authProvider: { name: 'tokenFile', config: { tokenFile } } };
    const client = clientFor(adminCredentials(server.url, user));
    await client.list(namespaces);
    await writeFile(tokenFile, 'revoked\n');
    // The old token is still good, so nothing asks for another: a client of a revoked one is what must recover.
    const late = clientFor(adminCredentials(server.url, user));
    await expect(late.list(namespaces)).rejects.toMatchObject({ status: 401 });
    await writeFile(tokenFile, `${server.adminToken}\n`);
    await late.list(namespaces);
  });

  test('an exec plugin is asked for a token, once for many requests', async () => {
    const { user, calls } = await execPlugin();
    const client = clientFor(adminCredentials(server.url, user));
    await Promise.all(Array.from({ length: 20 }, () => client.list(namespaces, { limit: 1 })));
    expect(await calls()).toBe(1);
  });

  test('an exec plugin is asked again when its token is refused', async () => {
    const { user, calls } = await execPlugin();
    const proxy = await FaultyProxy.start();
    const client = clientFor(adminCredentials(proxy.url, user));
    await client.list(namespaces);
    proxy.answer(/^GET/, 401);
    await client.list(namespaces);
    expect(await calls()).toBe(2);
  });

  test('a client certificate authenticates', async () => {
    const seen: string[] = [];
    const web = createServer(
      { key: server.serverKey, cert: server.caCert, ca: server.caCert, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        seen.push((request.socket as TLSSocket).getPeerCertificate().fingerprint256);
        response.end('{"metadata":{},"items":[]}');
      },
    );
    const port = await listening(web);
    const user = { certData: base64(server.caCert), keyData: base64(server.serverKey) };
    await clientFor(adminCredentials(`https://127.0.0.1:${port}`, user)).list(namespaces);
    expect(seen).toEqual([new X509Certificate(server.caCert).fingerprint256]);
  });

  test('the proxy of a kubeconfig is used, and a SOCKS proxy is refused', async () => {
    const tunnels: string[] = [];
    const proxy = createPlainServer();
    proxy.on('connect', (request, socket) => {
      tunnels.push(request.url ?? '');
      const { hostname, port } = new URL(server.url);
      const upstream = connect(Number(port), hostname, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      upstream.pipe(socket).pipe(upstream);
      onTestFinished(() => void upstream.destroy());
    });
    const port = await listening(proxy);
    await clientFor(kubeConfigCredentials(configWithProxy(`http://127.0.0.1:${port}`))).list(namespaces);
    expect(tunnels).toEqual([new URL(server.url).host]);
    expect(() => kubeConfigCredentials(configWithProxy('socks5://127.0.0.1:1'))).toThrow('SOCKS');
  });

  test('a server with a certificate of an unknown authority is Unreachable', async () => {
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: 'test', server: server.url, skipTLSVerify: false },
      { name: 'test', token: server.adminToken },
    );
    const error = await clientFor(kubeConfigCredentials(config))
      .list(namespaces)
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(KubeError);
    expect(error).toMatchObject({ status: 0, reason: 'Unreachable' });
  });
});

async function tempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-k8s-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A user whose token an exec plugin gives, and how often it was asked. */
async function execPlugin() {
  const folder = await tempFolder();
  const command = join(folder, 'plugin');
  const credential = {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: { token: server.adminToken },
  };
  await writeFile(command, `#!/bin/sh\necho asked >> ${folder}/calls\necho '${JSON.stringify(credential)}'\n`);
  await chmod(command, 0o755);
  return {
    user: { exec: { apiVersion: credential.apiVersion, command, args: [], env: [] } },
    calls: async () => (await readFile(join(folder, 'calls'), 'utf8')).split('\n').length - 1,
  };
}

function configWithProxy(proxyUrl: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'test', server: server.url, caData: base64(server.caCert), skipTLSVerify: false, proxyUrl },
    { name: 'test', token: server.adminToken },
  );
  return config;
}

async function listening(web: Server): Promise<number> {
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void web.close());
  return (web.address() as AddressInfo).port;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
