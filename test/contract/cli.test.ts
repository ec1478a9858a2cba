import { once } from 'node:events';
import { copyFile, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { verifyWebhook } from '../../clients/typescript/src/server.ts';
import { commands } from '../../cli/commands/index.ts';
import {
  type CommandLine,
  type CommandOptions,
  type CommandResult,
  openCommandLine,
} from '../../testing/command-line.ts';
import { sample } from '../../testing/media.ts';
import { secrets } from '../../testing/programs.ts';
import type { StageService } from '../../testing/stage/service.ts';
import { onStage } from '../../testing/stage/stage.ts';

// Every command of the command line, against the program of the stage. Most run in the process of the test; at least one
// is a process for each thing that only a process shows: that it ends, its exit code, its streams, signals, a terminal.

let service: StageService;
let cli: CommandLine;
/** Serves the source image, and takes webhooks. */
let other: Server;
let otherUrl = '';
const received: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
/** How many webhooks are answered with 503. */
let failuresLeft = 0;
/** The commands that a test has called, by name. */
const called = new Set<string>();

beforeAll(async () => {
  if (!inject('postgres')) return;
  service = await onStage('service');
  cli = await openCommandLine({ REELWRIGHT_URL: service.url, REELWRIGHT_API_KEY: secrets.API_KEY });
  // Its stream takes ten times as long as the start of a command that cancels it.
  const recipe = '-f lavfi -i testsrc2=s=640x360:r=25:d=120 -c:v libx264 -preset ultrafast -pix_fmt yuv420p';
  await copyFile(await sample('long.mp4', recipe), join(service.source, 'cli-long.mp4'));
  for (const name of ['red.png', 'clip.mp4']) await copyFile(join(service.source, name), join(cli.home, name));
  const image = await readFile(join(service.source, 'red.png'));
  other = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      if (request.method === 'POST') {
        received.push({ headers: request.headers, body });
        if (failuresLeft-- > 0) response.statusCode = 503;
      }
      response.end(request.url === '/blue.png' ? image : '');
    });
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
  otherUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await cli?.close();
  other?.closeAllConnections();
  other?.close();
});

/** Has `jsonOf` and `errorOf` start a process. */
const asProcess = true;

/** The JSON that a command prints, when it ends with the exit code. */
async function jsonOf(args: readonly string[], code = 0, env: Record<string, string> = {}, isProcess = false) {
  const result = await run([...args, '--json'], { env, asProcess: isProcess });
  expect([result.stderr, result.code]).toEqual([code === 0 ? '' : expect.any(String), code]);
  return result.json;
}

async function run(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const named = commands.map(({ name }) => name).filter((name) => `${args.join(' ')} `.startsWith(`${name} `));
  called.add(named.toSorted((a, b) => b.length - a.length)[0] ?? '');
  return await cli.run(args, options);
}

/** The error that a command prints as JSON, and its exit code. */
async function errorOf(args: readonly string[], env: Record<string, string> = {}, isProcess = false) {
  const { code, stdout, stderr } = await run([...args, '--json'], { env, asProcess: isProcess });
  expect(stdout).toBe('');
  return { exit: code, ...(JSON.parse(stderr) as { error: { code: string; detail: string } }).error };
}

const image = (hash: string, ...more: string[]) =>
  ['submit', 'red.png', '--type', 'image:thumbnail', '--hash', hash].concat(more);

/** A submission whose source comes later. */
const lateSubmission = (n: number) => ['submit', `cli-all-${n}.png`, '-t', 'image:thumbnail', '--hash', `cli-all-${n}`];

describe.skipIf(!inject('postgres'))('the command line', () => {
  it('submits a file, an object key and an address, and waits for their results', async () => {
    const file = await jsonOf([
      ...image('cli-file'),
      '--wait',
      '--option',
      'outputs=[{"variant":"s","width":16,"format":"webp"}]',
    ]);
    expect(file).toMatchObject({ status: 'completed', hash: 'cli-file', results: { outputs: [{ width: 16 }] } });
    const submission = ['--type', 'image:thumbnail', '--wait'];
    const key = await jsonOf(['submit', 'red.png', '--key', '--hash', 'cli-key', ...submission]);
    expect(key.status).toBe('completed');
    const address = await jsonOf(['submit', `${otherUrl}/blue.png`, ...submission]);
    expect(address).toMatchObject({ status: 'completed', hash: expect.stringMatching(/^[0-9a-f]{32}$/) as string });
    const shown = await run(['submit', 'red.png', '--key', '--hash', 'cli-key', '--type', 'image:thumbnail']);
    expect(shown.stdout).toMatch(/^[0-9a-f-]{36} {2}image:thumbnail {2}cli-key {2}exists already, completed\n$/);
  });

  it('a job with a profile and a priority is submitted with both', async () => {
    const args = ['submit', 'clip.mp4', '--key', '-t', 'video:transcode', '--hash', 'cli-video', '-o', 'encrypt=true'];
    const job = await jsonOf([...args, '--profile', 'mobile', '--priority', '5', '--wait']);
    expect(job).toMatchObject({ profile: 'mobile', status: 'completed', results: { streaming: { encrypted: true } } });
    const refused = await errorOf([...args, '--profile', 'unknown', '--hash', 'other']);
    expect(refused).toMatchObject({ exit: 6, code: 'invalid_request' });
  }, 100_000);

  it('lists, shows, watches and reruns jobs', async () => {
    const { jobs } = await jsonOf(['jobs', '--hash', 'cli-file', '--status', 'completed', '-n', '5']);
    expect(jobs).toEqual([expect.objectContaining({ hash: 'cli-file', status: 'completed' })]);
    const id = jobs[0].job_id as string;
    expect(await jsonOf(['job', id.slice(0, 8)])).toMatchObject({
      job_id: id,
      results: { key: expect.any(String) as string },
    });
    expect(await jsonOf(['watch', id])).toMatchObject({ job_id: id, status: 'completed' });
    const again = await jsonOf(['rerun', id, '--reason', 'a test', '--wait']);
    expect(again).toMatchObject({ status: 'completed', rerun_of_job_id: id });
    const text = await run(['job', id]);
    expect(text.stdout).toContain('status     completed\n');
    expect(text.stdout).toMatch(/^used +[0-9.]+ s of processors in [0-9.]+ s$/m);
    expect((await run(['jobs', '-n', '1'])).stdout).toMatch(
      /^JOB +TYPE +HASH +STATUS +CREATED +TITLE\n[0-9a-f-]{36} {2}.*\n$/,
    );
  });

  it('a job that has failed is a result and an error, and is retried once its source is there', async () => {
    const args = ['submit', 'cli-late.png', '--type', 'image:thumbnail', '--hash', 'cli-late', '--wait'];
    const failed = await run([...args, '--json']);
    expect([failed.code, failed.json.status]).toEqual([10, 'failed']);
    expect(JSON.parse(failed.stderr)).toMatchObject({ error: { code: 'source_not_found' } });
    expect((await run(args)).stderr).toContain('reelwright: source_not_found: ');
    await copyFile(join(service.source, 'red.png'), join(service.source, 'cli-late.png'));
    const { jobs } = await jsonOf(['retry', failed.json.job_id]);
    expect(await jsonOf(['watch', jobs[0].job_id, '--timeout', '60'])).toMatchObject({ status: 'completed' });
  });

  it('retries and cancels every job that the filters choose, once that is confirmed', async () => {
    for (const n of [1, 2]) expect((await run([...lateSubmission(n), '--wait'])).code).toBe(10);
    const chosen = ['--prefix', 'cli-all-', '--code', 'source_not_found', '--since', '1h'];
    expect((await jsonOf(['jobs', ...chosen])).jobs).toHaveLength(2);
    expect((await jsonOf(['jobs', ...chosen, '--until', '1h'])).jobs).toEqual([]);
    expect(await errorOf(['jobs', '--since', 'tomorrow'])).toMatchObject({ exit: 2, code: 'usage' });
    expect(await errorOf(['retry', '--all', ...chosen])).toMatchObject({ exit: 2, code: 'usage' });
    expect(await errorOf(['retry'])).toMatchObject({ exit: 2, code: 'usage' });
    for (const n of [1, 2]) await copyFile(join(service.source, 'red.png'), join(service.source, `cli-all-${n}.png`));
    const { code, stdout } = await cli.run(['retry', '--all', ...chosen], { onTerminal: true, stdin: '2\n' });
    expect([code, stdout]).toEqual([0, expect.stringContaining('2 retried, 0 refused')]);
    // Each has its retry by now.
    expect(await jsonOf(['retry', '--all', '--yes', ...chosen, '-n', '1'], 7)).toMatchObject({
      retried: 0,
      failed: [{ code: 'conflict' }],
    });
    const long = ['submit', 'cli-long.mp4', '--key', '-t', 'video:transcode', '--hash', 'cli-all-cancelled'];
    await jsonOf(long);
    expect(await jsonOf(['cancel', '--all', '--yes', '--hash', 'cli-all-cancelled'])).toMatchObject({ cancelled: 1 });
  }, 180_000);

  it('cancels a job, and says that it was cancelled to who waits for it', async () => {
    const job = await jsonOf([
      'submit',
      'cli-long.mp4',
      '--key',
      '--type',
      'video:transcode',
      '--hash',
      'cli-cancelled',
    ]);
    expect((await jsonOf(['cancel', job.job_id])).status).toBe('cancelled');
    expect((await run(['watch', job.job_id])).code).toBe(11);
    expect(await errorOf(['cancel', (await jsonOf(['jobs', '--hash', 'cli-file'])).jobs[0].job_id])).toMatchObject({
      exit: 7,
      code: 'conflict',
    });
  });

  it('shows and lists media, and deletes one only when that is confirmed', async () => {
    await jsonOf([...image('cli-deleted'), '--wait']);
    expect(await jsonOf(['media', 'cli-deleted'])).toMatchObject({ hash: 'cli-deleted', status: 'live' });
    const { media } = await jsonOf(['media', '--prefix', 'cli-', '--limit', '3']);
    expect(media).toHaveLength(3);
    expect(await errorOf(['delete', 'cli-deleted'])).toMatchObject({ exit: 2, code: 'usage' });
    const mistaken = await cli.run(['delete', 'cli-deleted'], { onTerminal: true, stdin: 'cli-delete\n' });
    expect([mistaken.code, mistaken.stdout], 'another hash').toEqual([2, expect.stringContaining('nothing')]);
    expect((await jsonOf(['media', 'cli-deleted'])).status).toBe('live');
    const deletion = await jsonOf(['delete', 'cli-deleted', '--yes', '--wait']);
    expect(deletion).toMatchObject({ status: 'deleted', receipt: { hash: 'cli-deleted' } });
  });

  it('signs tokens, player addresses and image addresses that the service accepts', async () => {
    const env = { KEY_TOKEN_SECRET: secrets.KEY_TOKEN_SECRET };
    const keyOf = (token: string) =>
      fetch(`${service.url}/api/key/cli-video`, { headers: { authorization: `Bearer ${token}` } });
    const { token } = await jsonOf(['token', 'cli-video', '--expires-in', '60'], 0, env);
    expect((await keyOf(token)).status).toBe(200);
    const ofConsole = await run(['token', 'cli-video']);
    expect((await keyOf(ofConsole.stdout.trim())).status).toBe(200);
    const { url } = await jsonOf(['play', 'cli-video'], 0, env);
    expect(url).toMatch(new RegExp(`^${service.url}/player/#hash=cli-video&token=`));
    const { jobs } = await jsonOf(['jobs', '--hash', 'cli-file', '--status', 'completed']);
    const { results } = await jsonOf(['job', jobs[0].job_id]);
    const thumb = await jsonOf(['thumb-url', results.key, '--width', '8', '-f', 'png', '--expires-in', '60'], 0, env);
    const answer = await fetch(thumb.url);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png']);
    const square = ['--width', '8', '--height', '8', '--fit', 'cover', '--gravity', 'attention', '--dpr', '1.5'];
    const ofService = await jsonOf(['thumb-url', results.key, ...square]);
    expect((await fetch(ofService.url)).status).toBe(200);
    const wrong = await errorOf(['thumb-url', results.key, '--width', '0', '--blur', '1000'], env);
    expect(wrong).toMatchObject({ exit: 2, code: 'usage' });
    const ticket = await jsonOf(['ticket', 'cli-video', '--scope', '720p~sid-a1'], 0, {
      STREAM_SECRET: secrets.STREAM_SECRET,
    });
    expect((await fetch(ticket.url)).status).toBe(200);
    // The page of an open media has no ticket, that of a signed one has one that plays it.
    const playing = { ...env, STREAM_SECRET: secrets.STREAM_SECRET };
    expect((await jsonOf(['play', 'cli-video'], 0, playing)).url).not.toContain('ticket');
    const signed = (playback: string) =>
      fetch(`${service.url}/api/media/cli-video`, {
        method: 'PATCH',
        headers: { 'x-api-key': secrets.API_KEY, 'content-type': 'application/json' },
        body: JSON.stringify({ playback }),
      });
    expect((await signed('signed')).status).toBe(200);
    const page = new URL((await jsonOf(['play', 'cli-video', '--expires-in', '60'], 0, playing)).url as string);
    const given = new URLSearchParams(page.hash.slice(1)).get('ticket') ?? '';
    expect((await fetch(`${service.url}/s/${given}/cli-video/master.m3u8`)).status).toBe(200);
    expect((await signed('open')).status).toBe(200);
    expect(await errorOf(['ticket', 'cli-video'])).toMatchObject({ exit: 2, code: 'usage' });
  });

  it('play --open hands the address to the browser by a redirect, so that no process list shows the token', async () => {
    const opener = join(cli.home, 'browser.mjs');
    const code = `#!${process.execPath}
      import { writeFileSync } from 'node:fs';
      const guessed = (await fetch(new URL('/', process.argv[2]), { redirect: 'manual' })).status;
      const answer = await fetch(process.argv[2], { redirect: 'manual' });
      const location = answer.headers.get('location');
      writeFileSync('opened.json', JSON.stringify({ argv: process.argv[2], location, guessed }));`;
    await writeFile(opener, code, { mode: 0o755 });
    const { url } = await jsonOf(['play', 'cli-video', '--open'], 0, { BROWSER: opener }, asProcess);
    // The command does not wait for the browser.
    const opened = await vi.waitFor(
      async () =>
        JSON.parse(await readFile(join(cli.home, 'opened.json'), 'utf8')) as {
          argv: string;
          location: string;
          guessed: number;
        },
      { timeout: 30_000 },
    );
    // Other users of the machine see the port, and cannot guess the path.
    expect([opened.location, opened.argv.includes('token'), opened.guessed]).toEqual([url, false, 404]);
  });

  it('listen sends the end of every job as a signed webhook, which verify-webhook accepts', async () => {
    received.length = 0;
    const env = { WEBHOOK_SECRET: 'a secret of listen' };
    const begun = Promise.withResolvers<void>();
    const listening = cli.run(
      ['listen', '--forward', `${otherUrl}/hook`, '--hash', 'cli-heard', '--count', '2', '--json'],
      {
        env,
        onOutput: () => begun.resolve(),
      },
    );
    called.add('listen');
    await begun.promise;
    const unsent = await jsonOf([
      'submit',
      'cli-long.mp4',
      '--key',
      '--type',
      'video:transcode',
      '--hash',
      'cli-heard',
    ]);
    // At once: a command takes seconds to start where much else runs.
    const headers = { 'x-api-key': secrets.API_KEY };
    await fetch(`${service.url}/api/jobs/${unsent.job_id}/cancel`, { method: 'POST', headers });
    failuresLeft = 1;
    await jsonOf([...image('cli-heard'), '--option', 'outputs=[{"variant":"a","width":9,"format":"png"}]', '--wait']);
    // Jobs that end within one poll of `listen` are sent in either order.
    await vi.waitFor(() => expect(received).toHaveLength(2), { timeout: 30_000 });
    const late = await jsonOf(['submit', 'never.png', '-t', 'image:thumbnail', '--hash', 'cli-heard', '--wait'], 10);
    const { code, stdout } = await listening;
    expect(code).toBe(0);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { status: string; answer: number; forward?: string });
    expect(lines[0]).toEqual({ forward: `${otherUrl}/hook`, secret: null });
    expect(lines.slice(1).map(({ status, answer }) => [status, answer])).toEqual([
      ['completed', 200],
      ['failed', 200],
    ]);
    // The first one was answered with 503, and sent again as the same event.
    const [refused, repeated, webhook] = received;
    expect(repeated?.headers['webhook-id']).toBe(refused?.headers['webhook-id']);
    expect([received.length, repeated?.body]).toEqual([3, refused?.body]);
    if (webhook === undefined) throw new Error('nothing was received');
    expect(await verifyWebhook({ ...webhook, secret: env.WEBHOOK_SECRET })).toMatchObject({
      job_id: late.job_id,
      status: 'failed',
      results: null,
      error: { code: 'source_not_found' },
    });
    const signed = Object.entries(webhook.headers).filter(([name]) => name.startsWith('webhook-'));
    const args = [
      'verify-webhook',
      ...signed.flatMap(([name, value]) => ['-H', `${name}: ${String(value)}`]),
      '--json',
    ];
    const genuine = await run(args, { env, stdin: webhook.body });
    expect([genuine.code, genuine.json.valid, genuine.json.event.job_id]).toEqual([0, true, late.job_id]);
    const forged = await run(args, { env, stdin: `${webhook.body} ` });
    expect([forged.code, JSON.parse(forged.stderr).error.code]).toEqual([4, 'invalid_signature']);
  });

  it('Ctrl-C ends a command with an exit code of its own', async () => {
    let pid = 0;
    const interrupted = await cli.run(['listen', '--forward', `${otherUrl}/hook`], {
      onStart: (started) => (pid = started),
      onOutput: () => process.kill(pid, 'SIGINT'),
    });
    expect([interrupted.code, interrupted.stderr]).toEqual([130, '']);
  });

  it('C38.14: a title and metadata are submitted, changed, shown and searched for', async () => {
    const said = ['--title', 'São Paulo', '-m', 'customer=42', '-m', 'place=a=b'];
    await jsonOf([...image('cli-titled'), ...said]);
    const titled = { title: 'São Paulo', metadata: { customer: '42', place: 'a=b' } };
    expect(await jsonOf(['media', 'title', 'cli-titled', 'São Paulo'])).toMatchObject(titled);
    expect((await run(['media', 'cli-titled'])).stdout).toMatch(/^title +São Paulo$/m);
    expect((await jsonOf(['media', '-q', 'sao'])).media).toMatchObject([{ hash: 'cli-titled', ...titled }]);
    const { url } = await jsonOf(['play', 'cli-titled', '--titled', '--at', '30']);
    expect(url).toMatch(/#hash=cli-titled&token=[^&]+&title=S%C3%A3o\+Paulo&t=30$/);
    expect(await jsonOf(['media', 'title', 'cli-titled', '--none', '-m', 'only=this'])).toMatchObject({
      title: null,
      metadata: { only: 'this' },
    });
    expect(await errorOf(['media', 'title', 'cli-titled'])).toMatchObject({ exit: 2, code: 'usage' });
    expect(await errorOf([...image('cli-titled'), '-m', 'x'])).toMatchObject({ exit: 2, code: 'usage' });
  });

  it('media: files are listed; expiry, hold, playback and the current revision are changed', async () => {
    const { files } = await jsonOf(['media', 'files', 'cli-file']);
    expect(files.length).toBeGreaterThan(0);
    const time = '2099-01-31T00:00:00.000Z';
    expect(await jsonOf(['media', 'expire', 'cli-file', time])).toMatchObject({ expires_at: time });
    expect(await jsonOf(['media', 'expire', 'cli-file', 'never'])).toMatchObject({ expires_at: null });
    expect(await jsonOf(['media', 'hold', 'cli-file'])).toMatchObject({ legal_hold: true });
    expect(await jsonOf(['media', 'hold', 'cli-file', '--off'])).toMatchObject({ legal_hold: false });
    expect(await jsonOf(['media', 'playback', 'cli-file', 'signed'])).toMatchObject({ hash: 'cli-file' });
    expect(await jsonOf(['media', 'playback', 'cli-file', 'open', '--withdraw'])).toMatchObject({ hash: 'cli-file' });
    const { revisions } = await jsonOf(['media', 'cli-video']);
    expect(await jsonOf(['media', 'current', 'cli-video', revisions[0].revision])).toMatchObject({ hash: 'cli-video' });
    expect(await errorOf(['media', 'expire', 'cli-file', 'soon'])).toMatchObject({ exit: 2, code: 'usage' });
  });

  it('a source comes in without a job: from a file, and by the service from an address', async () => {
    expect((await run(['upload', 'red.png'])).stdout).toMatch(/red\.png\n$/);
    expect(await jsonOf(['import', new URL('red.png', service.files).href])).toMatchObject({ status: 'completed' });
  });

  it('webhooks are shown with their attempts, and sent once more', async () => {
    const ended = await jsonOf([...image('cli-hook'), '--callback-url', `${otherUrl}/sent`, '--wait']);
    const attempts = async () => (await jsonOf(['webhooks', ended.job_id])).attempts;
    await vi.waitFor(async () => expect((await attempts())[0]).toMatchObject({ status_code: 200 }), {
      timeout: 30_000,
    });
    expect(await jsonOf(['webhooks', 'redeliver', ended.job_id])).toMatchObject({ callback_status: 'pending' });
  });

  it('C35.15: a named key is made, which is all that is printed, listed, used and revoked', async () => {
    const made = await run([
      'keys',
      'make',
      'cli',
      '--right',
      'read',
      '--right',
      'submit',
      '--hash-prefix',
      'cli-',
      '--weight',
      '4',
    ]);
    expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/^rw_[\w-]{43}\n$/)]);
    const ofKey = { REELWRIGHT_API_KEY: made.stdout.trim() };
    const listed = (await jsonOf(['keys'])).keys.find(({ name }: { name: string }) => name === 'cli');
    expect(listed).toMatchObject({ rights: ['read', 'submit'], hash_prefix: 'cli-', priority_max: 0, weight: 4 });
    expect((await run(['jobs'], { env: ofKey })).code).toBe(0);
    const refused = await run(['keys'], { env: ofKey });
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('lacks the right admin')]);
    const wrong = await run(['keys', 'make', 'other', '--right', 'write']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--right: expected one of read, submit')]);
    expect(await jsonOf(['keys', 'revoke', listed.key_id])).toMatchObject({ name: 'cli' });
    expect((await run(['jobs'], { env: ofKey })).code).toBe(4);
  });

  it('C37.15, C37.17: a key is made with quotas, and `usage` shows what work came to', async () => {
    const quotas = ['--quota', 'jobs_a_day=100', '--quota', 'processor_hours_a_day=1.5'];
    const made = await jsonOf(['keys', 'make', 'bounded', '--right', 'submit', ...quotas]);
    expect(made.quotas).toEqual({ jobs_a_day: 100, processor_hours_a_day: 1.5 });
    for (const wrong of ['jobs=3', 'jobs_a_day=none', 'jobs_a_day'])
      expect(await errorOf(['keys', 'make', 'other', '--right', 'submit', '--quota', wrong])).toMatchObject({
        exit: 2,
      });
    await jsonOf(['keys', 'revoke', made.key_id]);
    const { from, to, rows } = await jsonOf(['usage', '--by', 'key,type']);
    expect([Date.parse(to) - Date.parse(from), rows.length > 0]).toEqual([29 * 86_400_000, true]);
    const { stdout } = await run(['usage', '--from', to, '--to', to]);
    expect(stdout).toMatch(/^DAY +JOBS +OUT MIN +CPU H +POD H +WASTED H +OUT GB +STORED GB +SENT GB\n\d{4}-/);
    expect(await errorOf(['usage', '--by', 'week'])).toMatchObject({ exit: 2, code: 'usage' });
  });

  it('rollouts are started, shown, paused, resumed, cancelled and rolled back', async () => {
    const start = ['rollouts', 'start', '--to-profile', 'mobile', '--prefix', 'no-such-', '--jobs', '2'];
    expect(await jsonOf([...start, '--plan'])).toMatchObject({
      is_whole: true,
      media: 0,
      spec: { budget: { jobs: 2 } },
    });
    expect((await run([...start, '--plan'])).stdout).toMatch(
      /^profile +mobile\nmedia +0 of 0 looked at\nskipped +none\n/,
    );
    expect((await jsonOf(['rollouts'])).rollouts).toEqual([]);
    const begun = await jsonOf(start);
    const id = begun.rollout_id as string;
    expect((await jsonOf(['rollouts'])).rollouts[0].rollout_id).toBe(id);
    expect(await jsonOf(['rollouts', id])).toMatchObject({ spec: { to_profile: 'mobile' } });
    for (const verb of ['pause', 'resume', 'cancel', 'rollback']) {
      const { code, stderr } = await run(['rollouts', verb, id, '--json']);
      // It may have ended already: there is nothing to make.
      expect([0, 7], stderr).toContain(code);
    }
  });

  it('api sends any request, and a refusal has its exit code', async () => {
    expect(await jsonOf(['api', '/api/jobs?limit=1'])).toMatchObject({ jobs: [expect.anything()] });
    const changed = await jsonOf(['api', '/api/media/cli-file', '-X', 'PATCH', '-f', 'legal_hold=false']);
    expect(changed).toMatchObject({ hash: 'cli-file' });
    expect(await errorOf(['api', '/api/jobs/x'])).toMatchObject({ exit: 5, code: 'not_found' });
    expect(await errorOf(['api', 'jobs'])).toMatchObject({ exit: 2, code: 'usage' });
  });

  it('status says which service is called, and a shell completes names that it knows', async () => {
    expect(await jsonOf(['status'])).toEqual({ base_url: service.url, ready: true, key_accepted: true });
    expect((await run(['complete', 'media'])).stdout).toContain('cli-file\n');
    expect((await run(['complete', 'jobs'])).stdout).toMatch(/^[0-9a-f-]{36}\n/);
  });

  it('checks profiles, and names each fault with its field', async () => {
    const file = join(cli.home, 'profiles.yaml');
    await writeFile(file, 'profiles:\n  small:\n    ladder: [{short_side: 240, bitrate: 300000}]\n');
    expect(await jsonOf(['profiles check', file].flatMap((word) => word.split(' ')))).toEqual({
      valid: true,
      faults: [],
    });
    await writeFile(file, 'profiles:\n  small:\n    crf: 99\n    ladder: [{short_side: 241, bitrate: 300000}]\n');
    const { valid, faults } = await jsonOf(['profiles', 'check', file], 6);
    expect([valid, faults.length]).toEqual([false, 2]);
    expect(faults.join()).toContain('/profiles/small/crf: ');
    const object =
      'apiVersion: reelwright.dev/v1alpha1\nkind: MediaProfile\nmetadata: {name: small}\nspec: {crf: 99}\n';
    await writeFile(file, object);
    expect((await jsonOf(['profiles', 'check', file], 6)).faults.join()).toContain('small: spec.crf: ');
    await writeFile(file, 'a: [');
    expect((await jsonOf(['profiles', 'check', file], 6)).faults.join()).toContain('expected YAML');
  });

  it('login saves a key from standard input for its owner alone, after it was accepted', async () => {
    const env = { REELWRIGHT_URL: '', REELWRIGHT_API_KEY: '' };
    const login = ['login', 'here', '--url', service.url, '--json'];
    const refused = await run(login, { env, stdin: 'another key\n' });
    expect([refused.code, JSON.parse(refused.stderr).error.code]).toEqual([4, 'unauthorized']);
    let commandLine = '';
    const readCommandLine = (pid: number) =>
      void readFile(`/proc/${pid}/cmdline`, 'utf8').then((each) => (commandLine = each));
    const saved = await cli.run(login, { env, stdin: `${secrets.API_KEY}\n`, onStart: readCommandLine });
    expect(saved.json).toMatchObject({ name: 'here', base_url: service.url });
    expect([commandLine.includes('login'), commandLine.includes(secrets.API_KEY)]).toEqual([true, false]);
    expect((await stat(saved.json.path)).mode & 0o777).toBe(0o600);
    expect((await jsonOf(['jobs', '-n', '1'], 0, env)).jobs).toHaveLength(1);
    const { stdout } = await run(['config', 'list', '--json'], { env });
    expect(JSON.parse(stdout).servers).toEqual([
      { name: 'here', base_url: service.url, is_default: true, signs_tokens: false },
    ]);
    expect(stdout).not.toContain(secrets.API_KEY);
    expect(await jsonOf(['config', 'use', 'here'], 0, env)).toEqual({ default: 'here' });
    expect((await run(['complete', 'servers'], { env })).stdout).toBe('here\n');
    expect(await jsonOf(['logout'], 0, env)).toEqual({ removed: 'here' });
    expect(await errorOf(['config', 'remove', 'here'], env)).toMatchObject({ exit: 2, code: 'usage' });
    expect(await errorOf(['jobs'], env)).toMatchObject({ exit: 2, code: 'usage' });
  });

  it.each([
    ['an unknown job', ['job', '00000000-0000-4000-8000-000000000000'], {}, 5, 'not_found'],
    ['a refused key', ['jobs'], { REELWRIGHT_API_KEY: 'another' }, 4, 'unauthorized'],
    ['an invalid hash', ['submit', 'a.mp4', '-t', 'video:cover', '--hash', 'a..b'], {}, 6, 'invalid_request'],
    ['a file that is not there', ['submit', './none.mp4', '-t', 'video:cover'], {}, 2, 'usage'],
    ['a cluster that is not named', ['pools', '--namespace', 'n'], {}, 2, 'usage'],
    ['an unknown command', ['explode'], {}, 2, 'usage'],
  ])('%s is an error of its own exit code, as JSON on standard error', async (_, args, env, exit, code) => {
    expect(await errorOf(args, env)).toMatchObject({ exit, code });
  });

  it('a process prints its result on standard output and ends with 0, however it waited for it', async () => {
    expect(await jsonOf(['status'], 0, {}, asProcess)).toEqual({
      base_url: service.url,
      ready: true,
      key_accepted: true,
    });
    const { jobs } = await jsonOf(['jobs', '--hash', 'cli-file', '--status', 'completed']);
    const rerun = ['rerun', jobs[0].job_id, '--reason', 'a process', '--wait'];
    expect(await jsonOf(rerun, 0, {}, asProcess)).toMatchObject({ status: 'completed', hash: 'cli-file' });
  });

  it('a process ends with the exit code of its error, which is on standard error', async () => {
    const refused = { REELWRIGHT_API_KEY: 'another' };
    expect(await errorOf(['jobs'], refused, asProcess)).toMatchObject({ exit: 4, code: 'unauthorized' });
    const { code, stdout, stderr } = await run(['explode'], { asProcess });
    expect([code, stdout, stderr]).toEqual([2, '', 'reelwright: no command explode; see reelwright --help\n']);
  });

  it('completion prints the script of a shell', async () => {
    expect(await jsonOf(['completion', 'fish'])).toMatchObject({
      shell: 'fish',
      script: expect.stringMatching(/submit/) as string,
    });
  });

  it('every command was called', () => {
    const elsewhere = new Set(['doctor']);
    const names = commands.map(({ name }) => name).filter((name) => !elsewhere.has(name));
    expect(names.filter((name) => !called.has(name))).toEqual([]);
  });
});
