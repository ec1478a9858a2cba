import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  kubeConfigCredentials,
  kubeConfigFileCredentials,
  serviceAccountCredentials,
} from '#platform/kubernetes/credentials.ts';
import { KubeError } from '#platform/kubernetes/errors.ts';
import { adminCredentials, clientFor, server } from './support/cluster.ts';
import { namespaces } from './support/kinds.ts';

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
    const folder = await tempFolder();
    const plugin = join(folder, 'plugin');
    await writeFile(
      plugin,
      `#!/bin/sh
echo asked >> ${folder}/calls
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"${server.adminToken}"}}'
`,
    );
    await chmod(plugin, 0o755);
    const client = clientFor(
      adminCredentials(server.url, {
        exec: { apiVersion: 'client.authentication.k8s.io/v1', command: plugin, args: [], env: [] },
      }),
    );
    await Promise.all(Array.from({ length: 20 }, () => client.list(namespaces, { limit: 1 })));
    expect(await readFile(join(folder, 'calls'), 'utf8')).toBe('asked\n');
  });

  test("a pod's service account folder lets in", async () => {
    const folder = await tempFolder();
    await Promise.all([
      writeFile(join(folder, 'token'), `${server.adminToken}\n`),
      writeFile(join(folder, 'ca.crt'), server.caCert),
    ]);
    const { hostname: host, port } = new URL(server.url);
    await clientFor(serviceAccountCredentials({ host, port, folder })).list(namespaces);
  });

  test('a kubeconfig file lets in, and one without its context is refused', async () => {
    await clientFor(await kubeConfigFileCredentials(server.kubeconfigPath)).list(namespaces);
    expect(() => kubeConfigCredentials(new KubeConfig())).toThrow('names no cluster');
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
