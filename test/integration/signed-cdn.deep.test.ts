import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { signStreamTicket } from '#domain/playback/ticket.ts';
import { checkout } from '../../testing/checkout.ts';
import { hasEdgeNginx, startEdgeNginx } from '../../testing/edge-nginx.ts';
import { openFleet } from '../../testing/fleet.ts';
import { freePort } from '../../testing/free-port.ts';
import { sample } from '../../testing/media.ts';
import { secrets } from '../../testing/programs.ts';

// Two servers of delivery over one database, a caching nginx before them (docs/guides/tickets.md), and the receiver of
// purges beside it (examples/nginx/purge.mjs): a media that is open, then signed, and whose tickets are withdrawn.

const guide = await readFile(join(checkout, 'docs/guides/tickets.md'), 'utf8');
const blockOf = (language: string) =>
  new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(guide)?.[1] ?? '';

/** The guide's server, which caches open media too and says whence an answer comes. */
const configuration = blockOf('nginx').replace(
  'location /s/ {',
  `add_header X-Cache $upstream_cache_status always;
  location /stream/ {
    proxy_cache streams;
    proxy_cache_key $uri;
    proxy_pass http://reelwright;
  }
  location /s/ {`,
);

async function startPurger(cacheDir: string) {
  const port = await freePort();
  const program = spawn(process.execPath, [join(checkout, 'examples/nginx/purge.mjs')], {
    env: { CACHE_DIR: cacheDir, WEBHOOK_SECRET: secrets.WEBHOOK_SECRET, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said: string[] = [];
  program.stdout.on('data', (text: Buffer) => said.push(text.toString()));
  onTestFinished(async () => {
    program.kill();
    if (program.exitCode === null) await once(program, 'close');
  });
  /** How many files each purge so far has removed. */
  const purges = () => [...said.join('').matchAll(/^purged \S+: (\d+) files$/gm)].map(([, count]) => Number(count));
  return { url: `http://127.0.0.1:${port}/`, purges };
}

async function startEverything() {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-cdn-'));
  await chmod(folder, 0o755);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const cacheDir = join(folder, 'cache');
  await mkdir(cacheDir);
  const purger = await startPurger(cacheDir);
  const fleet = await openFleet({ onTestFinished });
  const env = { PURGE_HOOK_URL: purger.url };
  const servers = [await fleet.start('server', env), await fleet.start('server', env)] as const;
  await fleet.start('worker', env);
  const edge = await startEdgeNginx({
    folder,
    script: blockOf('javascript'),
    configuration,
    servers: servers.map(({ url }) => url),
    secret: secrets.STREAM_SECRET,
  });
  onTestFinished(edge.stop);
  return { fleet, server: servers[0].url, edge: edge.url, purges: purger.purges };
}

describe.skipIf(!hasEdgeNginx || inject('postgres') === null || inject('redis') === null)('a caching nginx', () => {
  it('C33.18: of a media that is signed, and whose tickets are withdrawn, nothing old is served after the purge', async () => {
    const { fleet, server, edge, purges } = await startEverything();
    const clip = await sample('cdn.mp4', '-f lavfi -i testsrc2=s=128x72:r=10:d=4 -pix_fmt yuv420p -c:v libx264');
    await fleet.addSource('clip.mp4', clip);
    const id = await fleet.submit('video:transcode', 'clip.mp4');
    expect(await fleet.finished(id)).toMatchObject({ status: 'completed' });
    const { hash } = (await fleet.find(id)) as { hash: string };
    const found = await readdir(fleet.media, { recursive: true, withFileTypes: true });
    const files = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const paths = files.flatMap((file) => file.split(`/${hash}/`)[1] ?? []).filter((path) => !path.endsWith('SUMS'));
    expect(paths.length).toBeGreaterThan(5);

    const apiKey = { 'x-api-key': secrets.API_KEY, 'content-type': 'application/json' };
    const change = async (below: string, init: RequestInit) =>
      (await fetch(`${server}/api/media/${hash}${below}`, { ...init, headers: apiKey })).status;
    const ticketOf = (generation: number) =>
      signStreamTicket({ hash, generation, exp: Math.floor(Date.now() / 1000) + 3600 }, secrets.STREAM_SECRET);
    /** Which statuses and sources the edge answers all paths with. */
    const answers = async (prefix: string) => {
      const all = paths.map(async (path) => {
        const answer = await fetch(`${edge}${prefix}/${hash}/${path}`);
        await answer.arrayBuffer();
        return `${answer.status} ${answer.headers.get('x-cache')}`;
      });
      return [...new Set(await Promise.all(all))].toSorted();
    };

    await answers('/stream');
    expect(await answers('/stream')).toEqual(['200 HIT']);
    expect(await change('', { method: 'PATCH', body: JSON.stringify({ playback: 'signed' }) })).toBe(200);
    // Until the purge the cache has what it had.
    expect(await answers('/stream')).toEqual(['200 HIT']);
    await expect.poll(purges, { timeout: 60_000 }).toEqual([paths.length]);
    for (let n = 0; n < 2; n++) expect(await answers('/stream')).toEqual(['404 MISS']);

    const [old, next] = [ticketOf(0), ticketOf(1)];
    await answers(`/s/${old}`);
    expect(await answers(`/s/${ticketOf(0)}`)).toEqual(['200 HIT']);
    expect(await change('/playback/withdraw', { method: 'POST', body: '{}' })).toBe(200);
    await answers(`/s/${next}`);
    expect(await answers(`/s/${next}`)).toEqual(['200 HIT']);
    await expect.poll(purges, { timeout: 60_000 }).toEqual([paths.length, 2 * paths.length]);
    for (let n = 0; n < 2; n++) expect(await answers(`/s/${old}`)).toEqual(['403 MISS']);
    expect(await answers('/stream')).toEqual(['404 MISS']);
    await answers(`/s/${next}`);
    expect(await answers(`/s/${next}`)).toEqual(['200 HIT']);
  });
});
