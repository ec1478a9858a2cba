import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkout } from './checkout.ts';
import { freePort } from './free-port.ts';
import { findProgram } from './servers.ts';

// nginx before servers of delivery, by the program and configuration of docs/guides/tickets.md.

const nginx = findProgram('nginx');
const modules = [join(checkout, '.tools/debian/usr/lib/nginx/modules'), '/usr/lib/nginx/modules'];
const njs = modules.map((dir) => join(dir, 'ngx_http_js_module.so')).find((file) => existsSync(file)) ?? null;

export const hasEdgeNginx = nginx !== null && njs !== null;

interface EdgeNginx {
  /** The test's own folder; the cache is below it, in `cache`. */
  readonly folder: string;
  /** The script that verifies tickets, and the configuration of the server. */
  readonly script: string;
  readonly configuration: string;
  /** Addresses of the servers. */
  readonly servers: readonly string[];
  readonly secret: string;
}

/** Starts it; it answers once `stop` is returned. */
export async function startEdgeNginx({ folder, script, configuration, servers, secret }: EdgeNginx) {
  const port = await freePort();
  await writeFile(join(folder, 'ticket.js'), script);
  await mkdir(join(folder, 'temp'));
  const server = configuration
    .replace('/var/cache/nginx/streams', join(folder, 'cache'))
    .replace('ticket.js', join(folder, 'ticket.js'))
    .replace('listen 8080', `listen 127.0.0.1:${port}`);
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, 'temp', name)};`,
  );
  const upstream = servers.map((url) => `server ${url.replace('http://', '')};`).join(' ');
  await writeFile(
    join(folder, 'nginx.conf'),
    `load_module ${njs};\nenv STREAM_SECRET;\ndaemon off; master_process off; pid ${join(folder, 'pid')}; error_log stderr;
events {}\nhttp { access_log off; ${temp.join(' ')} upstream reelwright { ${upstream} }\n${server} }`,
  );
  const child = spawn(nginx ?? '', ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    env: { ...process.env, STREAM_SECRET: secret },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const stop = async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGQUIT');
    await once(child, 'close');
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}
