import { afterAll, beforeAll, expect, it } from 'vitest';
import { mediaProfilesSchema, type NamedProfile } from '#domain/media/profiles.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Encoding profiles": its routes.

let api: ApiUnderTest;
const configured = mediaProfilesSchema.parse({
  profiles: { small: { crf: 30 }, mobile: { crf: 20 } },
  rules: [{ source_prefix: 'phones/', profile: 'small' }],
});

beforeAll(async () => {
  api = await startApi({ mediaProfiles: configured });
  const profile = { ...(configured.byName.get('hdr') as NamedProfile), name: 'of-cluster' };
  await api.d.profiles.replace([{ profile, rules: [{ source_bytes_min: 1000, priority: 0 }] }]);
});
afterAll(() => api.close());

const check = (body: unknown) =>
  api.call('/api/profiles/check', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

it('C16.15: `GET /api/profiles` lists every profile with where it is from, and the rules in their order', async () => {
  const { status, json } = await api.call('/api/profiles');
  expect(status).toBe(200);
  const of = Object.fromEntries(json.profiles.map((each: { name: string }) => [each.name, each]));
  expect(Object.keys(of)).toEqual(['archive-4k', 'audio', 'default', 'hdr', 'mobile', 'of-cluster', 'small']);
  expect(of['default']).toMatchObject({ origin: 'built_in', rungs: 4, codecs: ['h264'] });
  expect([of['mobile'].origin, of['small'].origin]).toEqual(['configuration', 'configuration']);
  expect(of['of-cluster']).toMatchObject({ origin: 'cluster', codecs: ['h264', 'hevc'], digest: of['hdr'].digest });
  const rule = { source_prefix: null, source_bytes_min: null, source_bytes_max: null };
  expect(json.rules).toEqual([
    { ...rule, profile: 'of-cluster', source_bytes_min: 1000 },
    { ...rule, profile: 'small', source_prefix: 'phones/' },
  ]);
  expect((await api.call('/api/profiles', { headers: { 'x-api-key': 'another' } })).status).toBe(401);
});

it('C16.15: `GET /api/profiles/{name}` writes a profile as a check takes it; an unknown one is 404', async () => {
  const { json } = await api.call('/api/profiles/of-cluster');
  expect(json.yaml).toContain('profiles:\n  of-cluster:\n    ladder:\n');
  const checked = (await check({ text: json.yaml })).json;
  expect([checked.valid, checked.profiles[0].name, checked.profiles[0].digest]).toEqual([
    true,
    'of-cluster',
    json.digest,
  ]);
  expect((await api.call('/api/profiles/none')).json).toMatchObject({ status: 404, code: 'not_found' });
});

it('C16.16: a check names every fault of profiles with its field and line', async () => {
  const text =
    'profiles:\n  small:\n    crf: 99\n    ladder:\n      - {short_side: 241, bitrate: 300000}\n    crff: 1\n';
  const { status, json } = await check({ text });
  expect([status, json.valid, json.profiles]).toEqual([200, false, []]);
  expect(json.faults.map(({ field, line }: { field: string; line: number }) => [field, line])).toEqual(
    expect.arrayContaining([
      ['/profiles/small/crf', 3],
      ['/profiles/small/ladder/0/short_side', 5],
      ['/profiles/small/crff', 6],
    ]),
  );
  const object = 'kind: MediaProfile\nmetadata: {name: big}\nspec:\n  crf: 99\n---\nkind: Pod\n';
  expect((await check({ text: object })).json.faults).toEqual([
    { profile: 'big', field: 'spec.crf', detail: 'must be at most 40', line: 4 },
    { profile: null, field: '', detail: 'document 2: expected the kind MediaProfile', line: 6 },
  ]);
  const [fault] = (await check({ text: 'profiles: [\n' })).json.faults;
  expect([fault.field, fault.line, fault.detail]).toEqual(['', 2, expect.stringMatching(/^expected YAML: /)]);
});

it('C16.16: hostile text of profiles is a fault and never an error', async () => {
  const bomb = `a: &a [x, x]\n${Array.from({ length: 25 }, (_, n) => `b${n}: &b${n} [*${n === 0 ? 'a' : `b${n - 1}`}, *${n === 0 ? 'a' : `b${n - 1}`}]`).join('\n')}`;
  for (const text of [
    '',
    '- a',
    '~',
    'a: 1\n---\nb: 1',
    bomb,
    '['.repeat(20_000),
    '? [a]\n: 1',
    '__proto__: {}',
    '}'.repeat(50_000),
    'a: 1\na: 2',
    'profiles: { a: { ladder: { length: { toString: 1 } } } }',
    '&a [*a]',
  ]) {
    const { status, json } = await check({ text });
    expect.soft([text.slice(0, 20), status, json.valid]).toEqual([text.slice(0, 20), 200, false]);
  }
  expect((await check({ text: 'a'.repeat(98_305) })).json.errors[0].pointer).toBe('/text');
  expect((await check({ text: '', source: { width: 1, height: 720 } })).json.errors).toMatchObject([
    { pointer: '/source/width' },
    { pointer: '/source/duration_sec' },
  ]);
});

it('C16.16: other requests are answered while a long text is read', async () => {
  const checked = check({ text: '%a\n'.repeat(32_000) });
  const others = Array.from({ length: 6 }, () => check({ text: '?'.repeat(9_000) }));
  const list = api.call('/api/profiles');
  expect(await Promise.race([checked.then(() => 'check'), list.then(() => 'list')])).toBe('list');
  const details = (await Promise.all([checked, ...others])).map(({ json }) => json.faults[0].detail as string);
  expect(details.filter((detail) => detail.startsWith('Too many long texts'))).toHaveLength(3);
  expect((await check({ text: `profiles: { small: { crf: 28 } }${' '.repeat(9_000)}` })).json).toMatchObject({
    valid: true,
  });
});

it('C16.16: a check states the ladder of the source and its largest size', async () => {
  const { json } = await check({
    text: 'kind: MediaProfile\nmetadata: {name: big}\nspec: {audio: {bitrate: 64000}}\n',
    source: { width: 1280, height: 720, duration_sec: 80 },
  });
  expect(json).toMatchObject({ valid: true, faults: [] });
  const [{ name, ladder, audio, bytes_max: bytes }] = json.profiles;
  expect(ladder.map((rung: { width: number; height: number }) => [rung.width, rung.height])).toEqual([
    [640, 360],
    [960, 540],
    [1280, 720],
  ]);
  expect([name, ladder[1].is_first, ladder[2].bytes_max, audio]).toEqual([
    'big',
    true,
    45_000_000,
    { bitrate: 64_000, bytes_max: 640_000 },
  ]);
  expect(bytes).toBe(7_300_000 + 20_000_000 + 45_000_000 + 640_000);
});

it('C16.16: checks are limited for each API key, and take nothing from the limit of submissions', async () => {
  const limited = await startApi({ apiRateLimitPerMinute: 1 }, { clock: () => new Date('2026-01-01T00:00:07Z') });
  try {
    const body = JSON.stringify({ text: '' });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const statuses: number[] = [];
    for (let sent = 0; sent < 121; sent += 1) statuses.push((await limited.call('/api/profiles/check', init)).status);
    expect(statuses.indexOf(429)).toBe(120);
    const submission = { type: 'image:thumbnail', hash: 'after-checks', source: 'a.jpg' };
    expect((await limited.submit(submission)).status).toBe(202);
  } finally {
    await limited.close();
  }
});
