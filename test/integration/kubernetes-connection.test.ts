import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished, expect, test, vi } from 'vitest';
import { KubeClient } from '#platform/kubernetes/client.ts';
import type { Credentials } from '#platform/kubernetes/credentials.ts';
import { pods } from '#platform/kubernetes/objects.ts';
import { certificate } from '../../testing/certificate.ts';

// A connection that is closed, and one whose trust changes, as with a new certificate authority.

const pod = { namespace: 'media', name: 'a' };
const refused = { name: 'KubeError', reason: 'Unreachable', message: expect.stringContaining('closed') as unknown };

/** A client of a server whose watches stay open; `renewTrust` makes its next request ask for credentials again. */
async function rig(waitForAccess: () => Promise<void> = () => Promise.resolve()) {
  const server = createServer(certificate, (request, response) => {
    if (request.url?.includes('watch=') === true) response.write('{"type":"BOOKMARK","object":{}}\n');
    else response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  let reads = 0;
  const credentials: Credentials = {
    server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    access: async () => {
      await waitForAccess();
      return { headers: {}, tls: { ca: certificate.cert + '\n'.repeat((reads += 1)) } };
    },
  };
  const client = new KubeClient(credentials);
  onTestFinished(async () => {
    vi.restoreAllMocks();
    await client.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { client, renewTrust: () => (nowMs += 60_000) };
}

test('a client that was closed sends nothing, also with renewed trust', async () => {
  const { client, renewTrust } = await rig();
  await client.get(pods, pod);
  await client.close();
  await expect(client.get(pods, pod)).rejects.toMatchObject(refused);
  renewTrust();
  await expect(client.get(pods, pod)).rejects.toMatchObject(refused);
  await client.close();
});

test('a request whose credentials come after the client was closed is not sent', async () => {
  const given = Promise.withResolvers<void>();
  const { client } = await rig(() => given.promise);
  const getting = client.get(pods, pod);
  await client.close();
  given.resolve();
  await expect(getting).rejects.toMatchObject(refused);
});

test('closing a client ends its watches, also one that began before its trust changed', { timeout: 5000 }, async () => {
  const { client, renewTrust } = await rig();
  const watches = [0, 1, 2].map(() => client.watch(pods, { resourceVersion: '1', timeoutSeconds: 300 }));
  for (const watch of watches) {
    renewTrust();
    await watch.next();
  }
  await client.get(pods, pod);
  await client.close();
  const ends = await Promise.allSettled(watches.map((watch) => watch.next()));
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
});
