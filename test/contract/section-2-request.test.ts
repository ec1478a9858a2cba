import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// Section 2, "### Create-job request body (`POST /api/jobs`)" and "### `options` per type".

let api: ApiUnderTest;
let counter = 0;
const thumbnail = (more: object = {}) => ({ type: 'image:thumbnail', hash: `h${counter++}`, source: 'a.jpg', ...more });

beforeAll(async () => {
  api = await startApi();
  await api.putSource('video.mp4', Buffer.alloc(100));
});
afterAll(() => api.close());

const output = (more: object = {}) => ({ outputs: [{ variant: 'a', width: 10, format: 'webp', ...more }] });
const outputs = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ variant: `v${n}`, width: 10, format: 'webp' }));

// "| `type` | yes | string | `image:thumbnail`, `video:cover`, `video:preview`, `video:transcode` or `video:full` |
// | `hash` | yes | string | stable media identifier chosen by the caller |
// | `source` | yes | string | object key in the configured source bucket |
// | `options` | no | object | schema depends on `type` |
// | `callback_url` | no | string (URL) | webhook destination for the final job state |"
// "Unknown fields anywhere in the body are rejected. `source_bucket` is not a valid field."
// Section 1: "The source bucket is chosen from configuration only; it is never part of a request."
describe('Create-job request body', () => {
  const previewDefaults = { start_sec: 0, duration: 3, width: 480, fps: 10, format: 'webp' };
  const body = { type: 'video:full', hash: 'body', source: 'video.mp4' };

  it.each([
    ['`type` is required', { ...body, type: undefined }, ['/type']],
    ['`hash` is required', { ...body, hash: undefined }, ['/hash']],
    ['`source` is required', { ...body, source: undefined }, ['/source']],
    ['`type` is one of five', { ...body, type: 'video:other' }, ['/type']],
    ['"Unknown fields anywhere in the body are rejected"', { ...body, other: 1 }, ['/other']],
    [
      '"Unknown fields anywhere" (in the options)',
      { ...body, options: { preview: { speed: 1 } } },
      ['/options/preview/speed'],
    ],
    ['"`source_bucket` is not a valid field"', { ...body, source_bucket: 'other' }, ['/source_bucket']],
    [
      '"Legacy flat options are rejected"',
      { ...body, options: { timestamp_sec: 1, encrypt: true } },
      ['/options/timestamp_sec', '/options/encrypt'],
    ],
    [
      'all faults at once',
      { type: 'image:thumbnail', hash: '..', source: '/x', options: { outputs: [{ width: 0 }] } },
      ['/hash', '/source', '/options/outputs/0/variant', '/options/outputs/0/width', '/options/outputs/0/format'],
    ],
    ['a body that is no object', [], ['']],
    ['`callback_url` is a URL', { ...body, callback_url: 'example' }, ['/callback_url']],
    ['`options` is an object', { ...body, options: 'encrypt' }, ['/options']],
    ['options of another type', { ...body, type: 'video:transcode', options: { fps: 5 } }, ['/options/fps']],
  ])('%s', async (_, submission, pointers) => {
    const answer = await api.submit(submission);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    const found: string[] = answer.json.errors.map((fault: { pointer: string }) => fault.pointer);
    expect(new Set(found)).toEqual(new Set(pointers));
    expect(answer.json).toMatchObject({ status: 400, code: 'invalid_request', instance: '/api/jobs' });
  });

  // "| `image:thumbnail` | `outputs`: array of objects `{variant: string, width: integer, format: string}`. Formats
  // seen: `webp`, `jpg`. Default when `outputs` is omitted: a single output with variant `thumb`, width 300, format
  // `webp`. |
  // | `video:cover` | `timestamp_sec`: number |
  // | `video:preview` | `start_sec`: number, `duration`: number, `width`: integer, `fps`: integer, `format`: `webp` or
  // `gif` |
  // | `video:transcode` | `encrypt`: boolean |
  // | `video:full` | must use the nested schema: `cover` (the `video:cover` options), `preview` (the `video:preview`
  // options), `transcode` (the `video:transcode` options). Legacy flat options are rejected. |"
  it.each([
    ['image:thumbnail', { outputs: [{ variant: 'a', width: 10, format: 'jpg' }] }],
    ['video:cover', { timestamp_sec: 1.5 }],
    ['video:preview', { start_sec: 1, duration: 2, width: 320, fps: 5, format: 'gif' }],
    ['video:transcode', { encrypt: true }],
    ['video:full', { cover: { timestamp_sec: 1 }, preview: { fps: 5 }, transcode: { encrypt: true } }],
  ])('%s takes the options of its row', async (type, options) => {
    expect((await api.submit({ type, hash: `o${counter++}`, source: 'video.mp4', options })).status).toBe(202);
  });

  it('`outputs` omitted: "a single output with variant `thumb`, width 300, format `webp`"', async () => {
    const { json } = await api.submit(thumbnail());
    const job = await api.d.jobs.find(json.job_id);
    expect(job?.options).toEqual({ outputs: [{ variant: 'thumb', width: 300, format: 'webp' }] });
  });

  // "Bounds and defaults of numeric option fields, the default of `encrypt`, and the allowed image formats beyond `webp` and
  // `jpg`: not shown." decisions.md: "1–20; `variant` `^[a-z0-9][a-z0-9_-]{0,31}$`, unique in the job; `width` 1–8192;
  // `format` `webp`, `jpg`, `png`, `avif`."; `timestamp_sec`: "finite, 0–86400."; "`start_sec` 0 (≥ 0), `duration` 3
  // (0.5–15), `width` 480 (64–1280, made even), `fps` 10 (1–30), `format` `webp`; `duration × fps` ≤ 300."; `encrypt`:
  // "false."; `video:full`: "`cover`, `preview` and `transcode` each optional, each with its own defaults."
  it.each([
    ['video:cover', {}, {}],
    ['video:preview', {}, previewDefaults],
    ['video:transcode', {}, { encrypt: false }],
    ['video:full', {}, { cover: {}, preview: previewDefaults, transcode: { encrypt: false } }],
  ])('%s with the options %j has the decided defaults', async (type, options, whole) => {
    const { json } = await api.submit({ type, hash: `d${counter++}`, source: 'video.mp4', options });
    expect((await api.d.jobs.find(json.job_id))?.options).toEqual(whole);
  });

  it.each([
    ['image:thumbnail', { outputs: outputs(20) }, { outputs: outputs(21) }, '/options/outputs'],
    ['image:thumbnail', { outputs: outputs(1) }, { outputs: [] }, '/options/outputs'],
    ['image:thumbnail', output({ variant: '0_-' }), output({ variant: '_a' }), '/options/outputs/0/variant'],
    [
      'image:thumbnail',
      output({ variant: 'x'.repeat(32) }),
      output({ variant: 'x'.repeat(33) }),
      '/options/outputs/0/variant',
    ],
    [
      'image:thumbnail',
      { outputs: outputs(2) },
      { outputs: [...outputs(1), ...outputs(1)] },
      '/options/outputs/1/variant',
    ],
    ['image:thumbnail', output({ width: 1 }), output({ width: 0 }), '/options/outputs/0/width'],
    ['image:thumbnail', output({ width: 8192 }), output({ width: 8193 }), '/options/outputs/0/width'],
    ['image:thumbnail', output({ width: 2 }), output({ width: 1.5 }), '/options/outputs/0/width'],
    ['image:thumbnail', output({ format: 'png' }), output({ format: 'gif' }), '/options/outputs/0/format'],
    ['image:thumbnail', output({ format: 'avif' }), output({ format: 'jpeg' }), '/options/outputs/0/format'],
    ['video:cover', { timestamp_sec: 0 }, { timestamp_sec: -0.001 }, '/options/timestamp_sec'],
    ['video:cover', { timestamp_sec: 86_400 }, { timestamp_sec: 86_400.001 }, '/options/timestamp_sec'],
    ['video:preview', { start_sec: 0 }, { start_sec: -1 }, '/options/start_sec'],
    ['video:preview', { duration: 0.5 }, { duration: 0.49 }, '/options/duration'],
    ['video:preview', { duration: 15 }, { duration: 15.1 }, '/options/duration'],
    ['video:preview', { width: 64 }, { width: 63 }, '/options/width'],
    ['video:preview', { width: 1280 }, { width: 1281 }, '/options/width'],
    ['video:preview', { fps: 1 }, { fps: 0 }, '/options/fps'],
    ['video:preview', { fps: 30, duration: 10 }, { fps: 31 }, '/options/fps'],
    ['video:preview', { fps: 20, duration: 15 }, { fps: 21, duration: 15 }, '/options/duration'],
    ['video:preview', { format: 'gif' }, { format: 'mp4' }, '/options/format'],
    ['video:transcode', { encrypt: false }, { encrypt: 1 }, '/options/encrypt'],
  ])('%s takes the options %j and refuses %j', async (type, taken, refused, pointer) => {
    const sendOptions = (options: object) => api.submit({ type, hash: `b${counter++}`, source: 'video.mp4', options });
    expect((await sendOptions(taken)).status).toBe(202);
    const answer = await sendOptions(refused);
    expect([answer.status, answer.json.errors]).toMatchObject([400, [{ pointer }]]);
    expect(answer.json.errors).toHaveLength(1);
  });

  // decisions.md, `hash`: "`^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$` without `..`; else 400."
  // decisions.md, `source`: "1–1024 bytes of UTF-8, no NUL or control characters, no leading `/`, no `..` segment; else 400."
  it.each([
    ['hash', 'x'.repeat(128), 'x'.repeat(129)],
    ['hash', 'A.b_c~d-e', '.b'],
    ['hash', 'a.b', 'a..b'],
    ['hash', 'a', 'a/b'],
    ['hash', '9', ''],
    ['hash', 'need-not-be-a-digest', 'ä'],
    ['source', 'ä'.repeat(512), 'ä'.repeat(513)],
    ['source', 'a', ''],
    ['source', 'a b/c', 'a\u0000b'],
    ['source', 'a', 'a\nb'],
    ['source', 'a/b', '/a/b'],
    ['source', 'a..b/c', 'a/../b'],
    ['source', '.a/b', './a'],
  ])('`%s` may be %.40j and not %.40j', async (field, taken, refused) => {
    const sendField = (value: string) => api.submit(thumbnail({ [field]: value }));
    expect((await sendField(taken)).status).toBe(202);
    const answer = await sendField(refused);
    expect([answer.status, answer.json.errors]).toMatchObject([400, [{ pointer: `/${field}` }]]);
  });

  it('`source` never names a bucket: an address of another store is a key that the source bucket does not have', async () => {
    for (const source of [
      's3://other/video.mp4',
      'file:other/video.mp4',
      'https://other.test/video.mp4',
      'other/video.mp4',
    ]) {
      const answer = await api.submit({ type: 'video:transcode', hash: `k${counter++}`, source });
      expect([source, answer.status, answer.json.code]).toEqual([source, 400, 'source_missing']);
    }
  });

  // decisions.md: "http and https." "loopback, private, link-local, metadata, multicast and unspecified ranges (IPv4,
  // IPv6, mapped) are refused unless `WEBHOOK_ALLOWED_CIDRS` names them. Refusal at submission when it can be known
  // (400), else at delivery." "Names are resolved once and the address pinned":
  // test/integration/controller-outbound-http.test.ts, 'goes to the address that was judged, whatever the name says a moment
  // later'
  it.each([
    'http://127.0.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://[::ffff:10.0.0.1]/',
    'http://2130706433/',
    'ftp://example.com/',
    'https://user:secret@example.com/',
  ])('a callback_url that cannot be allowed is refused at once: %s', async (url) => {
    const answer = await api.submit(thumbnail({ callback_url: url }));
    expect(answer.status).toBe(400);
    expect(answer.json.errors).toMatchObject([{ pointer: '/callback_url' }]);
  });
});
