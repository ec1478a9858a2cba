import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { defaultDocument, digestOf } from '#domain/media/profiles.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { openDatabase } from '#platform/postgres/database.ts';
import { type AlertRule, promtool, tryAlert } from '../../testing/alert-rules.ts';
import { checkout } from '../../testing/checkout.ts';
import { until } from '../../testing/controller-rig.ts';
import { migratedDatabase, type TestDatabase } from '../../testing/databases.ts';
import { copyTree, howTosOf, perform, runIn } from './how-to.ts';
import { endPrograms, secrets, startProgram } from '../../testing/programs.ts';

// docs/how-to-add.md: each entry is performed as it is written, all on one copy of the tree. The copy then
// passes the checks that the page names, and what was added is at work.

const howTos = howTosOf(await readFile(join(checkout, 'docs/how-to-add.md'), 'utf8'));

const counted = (value: number) => new Map([['svc_job_failures_total{type="video:cover",code="internal"}', value]]);

describe.skipIf(!inject('postgres'))('a tree to which everything of "How to add" was added', () => {
  let folder: string;
  let tree: string;
  let database: TestDatabase;
  const from = <Module>(path: string) => import(join(tree, path)) as Promise<Module>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reelwright-how-to-'));
    tree = join(folder, 'tree');
    await copyTree(tree);
    for (const howTo of howTos) await perform(howTo, tree);
    await runIn(tree, 'make generate');
    await Promise.all(['source', 'media', 'work'].map((name) => mkdir(join(folder, name))));
    database = await migratedDatabase();
  });
  afterEach(endPrograms);
  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  it('the page has an example for everything that can be added without a network', () => {
    expect(howTos.length).toBeGreaterThan(10);
    const without = howTos.filter(({ blocks }) => blocks.length === 0).map(({ title }) => title);
    expect(without).toEqual(['A promise', 'A dependency']);
  });

  it.each(['An option of a job type', 'A route'])(
    '%s takes five files by hand, and all others are generated',
    (title) => {
      const { blocks = [] } = howTos.find((howTo) => howTo.title === title) ?? {};
      expect(blocks.map(({ language }) => language)).toEqual(['diff']);
      expect(blocks.flatMap(({ text }) => text.match(/^\+\+\+ /gm) ?? [])).toHaveLength(5);
    },
  );

  it('the types, the lint rules, the format and the check for dead code hold', async () => {
    await runIn(tree, 'tsc');
    const changed = (await runIn(tree, 'git ls-files --modified --others --exclude-standard')).trim().split('\n');
    expect(changed).toContain('runner/handlers/video-transcode/sheet/handler.ts');
    await runIn(tree, `oxlint --type-aware ${changed.filter((path) => path.endsWith('.ts')).join(' ')}`);
    await runIn(tree, `prettier --check --ignore-unknown ${changed.join(' ')}`);
    await runIn(tree, 'knip');
  });

  it('the tests that the entries name pass, and no generated file is stale', async () => {
    const places = ['test/architecture', 'scripts/generate', 'scripts/crd-pages', 'platform/config', 'domain/media'];
    places.push('runner/handlers/video-preview');
    await runIn(
      tree,
      `vitest run --project unit --testTimeout 60000 ${[...places, 'jobs/next-units', 'chunked/plan'].join(' ')}`,
    );
  });

  it('a job of the new type runs on a source without video and gives its results', async () => {
    await makeTone(join(folder, 'source/tone.m4a'));
    const program = await startProgram({
      folder: tree,
      env: {
        ...secrets,
        DATABASE_URL: database.url,
        REDIS_URL: 'embedded:',
        SOURCE_BUCKET: `file:${join(folder, 'source')}`,
        MEDIA_BUCKET: `file:${join(folder, 'media')}`,
        WORK_DIR: join(folder, 'work'),
        EXECUTOR: 'process',
      },
    });
    const headers = { 'X-API-Key': secrets.API_KEY, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ type: 'audio:loudness', hash: 'tone', source: 'tone.m4a' });
    const submitted = await fetch(`${program.url}/api/jobs`, { method: 'POST', headers, body });
    expect(submitted.status).toBe(202);
    const { job_id: id } = (await submitted.json()) as { job_id: string };
    const job = await until(
      async () => (await (await fetch(`${program.url}/api/jobs/${id}`, { headers })).json()) as Record<string, unknown>,
      ({ status }) => status === 'completed' || status === 'failed',
    );
    expect(job).toMatchObject({ type: 'audio:loudness', status: 'completed', progress: 100, error: null });
    // A sine of amplitude 0.1 at 1 kHz on two channels: -20 dBFS, and the filter's own weighting at that frequency.
    const { integrated_lufs: loudness } = job['results'] as { integrated_lufs: number };
    expect(loudness).toBeGreaterThan(-21.5);
    expect(loudness).toBeLessThan(-18.5);
    // The route and the metric, of the same program.
    const listed = await fetch(`${program.url}/api/job-types`, { headers });
    expect(await listed.json()).toEqual({ types: expect.arrayContaining(['audio:loudness', 'video:full']) as unknown });
    expect(await (await fetch(`${program.url}/metrics`)).text()).toContain('\nsvc_image_bytes_total 0\n');
    // The migration, which the program applied at its start.
    const opened = openDatabase(database.url, { maxConnections: 1 });
    const { rows } = await opened.pool.query('select note from jobs');
    expect(rows).toEqual([{ note: null }]);
    await opened.close();
  });

  it('a job of the new type with an unknown option is refused, and the option named by its pointer', async () => {
    const { parseSubmission } = await from<{
      parseSubmission: (body: unknown) => { faults?: readonly { pointer: string }[] };
    }>('domain/jobs/submission.ts');
    const { faults } = parseSubmission({ type: 'audio:loudness', hash: 'a', source: 'b', options: { volume: 1 } });
    expect(faults?.map(({ pointer }) => pointer)).toEqual(['/options/volume']);
  });

  it('the new option is in the definition of MediaJobs, the reference, the API document and both clients', async () => {
    const files = ['crds/mediajobs.yaml', 'docs/reference/crds/mediajob.md', 'clients/typescript/src/schema.ts'];
    for (const file of [...files, 'clients/python/src/reelwright/models.py', 'test/contract/version-1.txt'])
      expect(await readFile(join(tree, file), 'utf8'), file).toContain('from_end');
  });

  it('the setting is read, and the chart passes it to delivery', async () => {
    const { loadConfig } = await from<typeof import('#platform/config/config.ts')>('platform/config/config.ts');
    const loaded = (value: string) => JSON.stringify(loadConfig({ THUMB_QUALITY: value }, []));
    expect(loaded('0')).toContain('THUMB_QUALITY: expected a whole number from 1 to 100');
    expect(loaded('90')).not.toContain('THUMB_QUALITY');
    const settings = parse(await readFile(join(tree, 'charts/reelwright/settings.yaml'), 'utf8')) as object;
    expect(settings).toMatchObject({ delivery: expect.arrayContaining(['THUMB_QUALITY']) as unknown });
  });

  it('a profile with the new option decides by it, and a profile without it has the digest of before', async () => {
    const profiles = await from<typeof import('#domain/media/profiles.ts')>('domain/media/profiles.ts');
    const { encodingProfileOf } = await from<typeof import('#domain/media/encoding-profile.ts')>(
      'domain/media/encoding-profile.ts',
    );
    const profile = profiles.documentSchema.parse({ audio: { sample_rate: 44_100 } });
    expect(encodingProfileOf(profile).audio.sampleRate).toBe(44_100);
    expect(profiles.digestOf(profile)).not.toBe(digestOf(defaultDocument));
    expect(profiles.digestOf(profiles.defaultDocument)).toBe(digestOf(defaultDocument));
    expect(await readFile(join(tree, 'crds/mediaprofiles.yaml'), 'utf8')).toContain('sample_rate:');
  });

  it('the new unit has its steps, and every job type with units that it follows has its handler', async () => {
    const { accessOf } = await from<typeof import('#domain/work/access.ts')>('domain/work/access.ts');
    const handlers = await from<{ loadHandler(task: object): Promise<{ publish(task: object): unknown }> }>(
      'runner/handlers/index.ts',
    );
    const access = accessOf('publish', 'sheet' as never, { type: 'video:transcode', options: { encrypt: true } });
    expect(access).toEqual({ readsSource: false, readsChunk: false, writesMedia: true, hasContentKey: true });
    for (const type of ['video:transcode', 'video:full']) {
      const handler = await handlers.loadHandler({ type, unit: { kind: 'sheet' } });
      const made = (await handler.publish({ task: { rev: '0123456789abcdef' } })) as { documents(): unknown };
      expect(made.documents()).toMatchObject([{ key: 'work/0123456789abcdef/sheet.json' }]);
    }
  });

  it.skipIf(promtool === null)('the new alert fires once jobs have failed for its time', async () => {
    const rules = parse(await readFile(join(tree, 'charts/reelwright/monitoring/alerts.yaml'), 'utf8')) as AlertRule[];
    const rule = rules.find(({ alert }) => alert === 'ReelwrightJobsFailing');
    expect(rule && tryAlert(rule, { start: counted(0), healthy: counted(0), faulty: counted(2) })).toBe('');
  });
});

async function makeTone(path: string): Promise<void> {
  const tone = 'aevalsrc=0.1*sin(2*PI*1000*t)|0.1*sin(2*PI*1000*t):sample_rate=48000:duration=5';
  const args = ['-v', 'error', '-f', 'lavfi', '-i', tone, '-c:a', 'aac', '-y', path];
  await promisify(execFile)(findProgram('ffmpeg', process.env), args);
}
