import { type ChildProcess, execFile } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from '../free-port.ts';
import { endProcess, logged, startGuard } from './processes.ts';

// A kube-apiserver and an etcd on free ports, with a separate folder.

const run = promisify(execFile);

/** Where the server is, as plain data that vitest hands to the test files. */
export interface ApiServerAddress {
  url: string;
  /** PEM: the server's certificate and its authority's. The key is here for the tests' own proxy. */
  caCert: string;
  serverKey: string;
  adminToken: string;
  /** A user that no role names: it may do nothing. */
  unprivilegedToken: string;
  kubeconfigPath: string;
  etcdUrl: string;
  kubectlPath: string;
}

export interface ApiServer extends ApiServerAddress {
  stop: () => Promise<void>;
}

/** Boots both from the folder of binaries that KUBEBUILDER_ASSETS means: `etcd`, `kube-apiserver`, `kubectl`. */
export async function startApiServer(assets: string): Promise<ApiServer> {
  for (const name of ['etcd', 'kube-apiserver', 'kubectl']) {
    if (!existsSync(join(assets, name))) throw new Error(`KUBEBUILDER_ASSETS has no ${name}: ${assets}`);
  }
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-k8s-'));
  const [etcdPort, peerPort, securePort] = await freePorts(3);
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const processes: ChildProcess[] = [];
  let guard: ChildProcess | undefined;
  const stop = async () => {
    // The API server first: it would otherwise spend its last seconds complaining about etcd.
    for (const child of processes.toReversed()) await endProcess(child);
    guard?.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  };
  try {
    processes.push(startEtcd(assets, folder, etcdUrl, `http://127.0.0.1:${peerPort}`));
    const adminToken = randomUUID();
    const unprivilegedToken = randomUUID();
    await writeTokens(folder, { adminToken, unprivilegedToken });
    processes.push(startKubeApiServer(assets, folder, etcdUrl, securePort ?? 0));
    guard = startGuard(folder, processes);
    const url = `https://127.0.0.1:${securePort}`;
    const caCert = await ready(folder, url, adminToken, processes);
    const kubeconfigPath = join(folder, 'kubeconfig');
    await writeFile(kubeconfigPath, kubeconfig(url, caCert, adminToken));
    return {
      url,
      caCert,
      serverKey: await readFile(join(folder, 'apiserver.key'), 'utf8'),
      adminToken,
      unprivilegedToken,
      kubeconfigPath,
      etcdUrl,
      kubectlPath: join(assets, 'kubectl'),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Runs kubectl against the server and returns what it printed. Throws with its stderr. */
export async function kubectl(server: ApiServerAddress, args: readonly string[], stdin?: string): Promise<string> {
  const child = run(server.kubectlPath, ['--kubeconfig', server.kubeconfigPath, ...args]);
  child.child.stdin?.end(stdin);
  return (await child).stdout;
}

/** Forgets etcd's history up to now, so that a watch or a page from before is answered with 410. */
export async function compactEtcd(server: ApiServerAddress): Promise<void> {
  const status = (await etcd(server, '/v3/maintenance/status', {})) as { header: { revision: string } };
  await etcd(server, '/v3/kv/compaction', { revision: status.header.revision, physical: true });
}

async function etcd(server: ApiServerAddress, path: string, body: object): Promise<unknown> {
  const answer = await fetch(server.etcdUrl + path, { method: 'POST', body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`etcd ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

function startEtcd(assets: string, folder: string, clientUrl: string, peerUrl: string): ChildProcess {
  return logged(folder, join(assets, 'etcd'), {
    'data-dir': join(folder, 'etcd'),
    'unsafe-no-fsync': 'true',
    'log-level': 'warn',
    'listen-client-urls': clientUrl,
    'advertise-client-urls': clientUrl,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'initial-cluster': `default=${peerUrl}`,
  });
}

function startKubeApiServer(assets: string, folder: string, etcdUrl: string, port: number): ChildProcess {
  return logged(folder, join(assets, 'kube-apiserver'), {
    'etcd-servers': etcdUrl,
    // It makes its own certificate there and signs it itself.
    'cert-dir': folder,
    'secure-port': String(port),
    'bind-address': '127.0.0.1',
    'advertise-address': '127.0.0.1',
    'endpoint-reconciler-type': 'none',
    'service-cluster-ip-range': '10.0.0.0/24',
    'allow-privileged': 'true',
    'authorization-mode': 'RBAC',
    'token-auth-file': join(folder, 'tokens.csv'),
    'service-account-issuer': 'https://reelwright.test',
    'service-account-key-file': join(folder, 'sa.pub'),
    'service-account-signing-key-file': join(folder, 'sa.key'),
    'disable-admission-plugins': 'ServiceAccount',
    // ConfigMaps are read from etcd itself, so that compacting it expires their watches at once.
    'watch-cache-sizes': 'configmaps#0',
  });
}

async function writeTokens(folder: string, tokens: { adminToken: string; unprivilegedToken: string }): Promise<void> {
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  await Promise.all([
    writeFile(join(folder, 'sa.key'), keys.privateKey),
    writeFile(join(folder, 'sa.pub'), keys.publicKey),
    writeFile(
      join(folder, 'tokens.csv'),
      `${tokens.adminToken},admin,admin,"system:masters"\n${tokens.unprivilegedToken},unprivileged,unprivileged,\n`,
    ),
  ]);
}

async function ready(folder: string, url: string, token: string, processes: ChildProcess[]): Promise<string> {
  const certPath = join(folder, 'apiserver.crt');
  const { Agent, fetch: fetchWith } = await import('undici');
  for (const deadline = Date.now() + 90_000; Date.now() < deadline;) {
    if (processes.some((child) => child.exitCode !== null)) break;
    await new Promise((resolve) => setTimeout(resolve, 200));
    if (!existsSync(certPath)) continue;
    const ca = await readFile(certPath, 'utf8');
    const dispatcher = new Agent({ connect: { ca } });
    try {
      const headers = { authorization: `Bearer ${token}` };
      // The default namespace is the last thing that a fresh server makes; /readyz does not wait for it.
      const answers = await Promise.all(
        ['/readyz', '/api/v1/namespaces/default'].map((path) => fetchWith(url + path, { dispatcher, headers })),
      );
      if (answers.every((answer) => answer.ok)) return ca;
    } catch {
      // Not listening yet.
    } finally {
      await dispatcher.close();
    }
  }
  const log = await readFile(join(folder, 'kube-apiserver.log'), 'utf8').catch(() => '');
  throw new Error(`kube-apiserver did not come up:\n${log.slice(-3000)}`);
}

function kubeconfig(url: string, caCert: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority-data': base64(caCert) } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
    'current-context': 'test',
  });
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
