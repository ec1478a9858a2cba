import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../testing/free-port.ts';

// nginx as an origin and as a peer: one worker each, as our process has one thread for its requests.

export interface Nginx {
  readonly url: string;
  /** Of the worker, which does the work. */
  readonly pid: number;
  stop(): Promise<void>;
}

/** The beginning of each configuration. It has no access log, and no `open_file_cache`. */
function configuration(port: number, dir: string, body: string): string {
  return `
daemon off;
worker_processes 1;
pid ${dir}/nginx.pid;
error_log ${dir}/error.log warn;
worker_rlimit_nofile 20000;
events { worker_connections 16384; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  client_body_temp_path ${dir}/body;
  proxy_temp_path ${dir}/proxy;
  fastcgi_temp_path ${dir}/fastcgi;
  uwsgi_temp_path ${dir}/uwsgi;
  scgi_temp_path ${dir}/scgi;
  ${body.replaceAll('LISTEN', `listen 127.0.0.1:${port} reuseport`)}
}
`;
}

/** Serves the files of a folder by their paths, without checking signatures, over TLS when a certificate is given. */
export function startOrigin(program: string, root: string, certificate: Certificate | null = null): Promise<Nginx> {
  const files = `root ${root}; types {} default_type application/octet-stream;`;
  if (certificate === null) return start(program, () => `server { LISTEN; ${files} }`);
  const tls = `ssl_certificate ${certificate.file}; ssl_certificate_key ${certificate.keyFile};`;
  return start(program, () => `server { LISTEN ssl; ${tls} ${files} }`, 'https');
}

/** Files in PEM. */
export interface Certificate {
  readonly file: string;
  readonly keyFile: string;
}

/**
 * Forms of the proxy, all with kept-alive connections to the origin and without temporary files. Which one is the
 * fastest depends on the case: `buffered` holds two segments in its buffers, `unbuffered` hands each read on, `cached`
 * keeps objects on disk (a memory file system where there is one) and writes them from large buffers, which beats
 * `sendfile`.
 */
const proxyForms = {
  buffered: 'proxy_buffer_size 64k; proxy_buffers 16 256k; proxy_busy_buffers_size 2m; proxy_max_temp_file_size 0;',
  unbuffered: 'proxy_buffering off; proxy_buffer_size 256k; proxy_buffers 8 256k;',
  cached:
    'proxy_buffer_size 64k; proxy_buffers 16 256k; proxy_busy_buffers_size 2m; sendfile off; output_buffers 2 512k; ' +
    'proxy_cache c; proxy_cache_valid 200 1h; proxy_cache_lock on;',
} as const;
export type ProxyForm = keyof typeof proxyForms;
const cacheBytesMax = 256 * 1024 * 1024;

interface ProxyOptions {
  readonly origin: string;
  /** The path in the origin to which `/stream/` is mapped. */
  readonly path: string;
  readonly form: ProxyForm;
}

export function startProxy(program: string, { origin, path, form }: ProxyOptions): Promise<Nginx> {
  return start(
    program,
    (dir) => `
  proxy_cache_path ${dir}/cache levels=1:2 keys_zone=c:16m max_size=${cacheBytesMax};
  upstream origin { server ${new URL(origin).host}; keepalive 256; keepalive_requests 1000000; }
  server {
    LISTEN;
    location /stream/ {
      proxy_pass ${new URL(origin).protocol}//origin${path};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      ${proxyForms[form]}
    }
  }`,
  );
}

async function start(program: string, body: (dir: string) => string, scheme = 'http'): Promise<Nginx> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-nginx-'));
  // As root, the worker runs as a user of its own.
  await chmod(dir, 0o755);
  await mkdir(join(dir, 'logs'));
  const port = await freePort();
  const file = join(dir, 'nginx.conf');
  await writeFile(file, configuration(port, dir, body(dir)));
  const child = spawn(program, ['-p', dir, '-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = once(child, 'close');
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await ended;
    await rm(dir, { recursive: true, force: true });
  };
  for (let tries = 0; !(await listens(port)); tries++) {
    if (child.exitCode !== null || tries > 200) {
      await stop();
      throw new Error(`nginx did not start: ${output.slice(-1000)}`);
    }
    await sleep(50);
  }
  return { url: `${scheme}://127.0.0.1:${port}`, pid: await workerOf(child.pid ?? 0), stop };
}

/** The master listens before it has a worker. */
async function workerOf(pid: number): Promise<number> {
  for (;;) {
    const [worker = ''] = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ');
    if (worker !== '') return Number(worker);
    await sleep(10);
  }
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
