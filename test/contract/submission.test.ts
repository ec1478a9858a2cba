import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Submission": the body of `POST /api/jobs` and the options of each type.

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

describe('the body of a submission', () => {
  const previewDefaults = { start_sec: 0, duration: 3, width: 480, fps: 10, format: 'webp' };
  const body = { type: 'video:full', hash: 'body', source: 'video.mp4' };

  it.each([
    ['C11.2: a submission without `type` is refused', { ...body, type: undefined }, ['/type']],
    ['C11.2: a submission without `hash` is refused', { ...body, hash: undefined }, ['/hash']],
    ['C11.2: a submission without `source` is refused', { ...body, source: undefined }, ['/source']],
    ['C11.4, C22.2: a submission of an unknown type is refused', { ...body, type: 'video:other' }, ['/type']],
    ['C11.3, C11.9, C22.2: an unknown field of the body is refused', { ...body, other: 1 }, ['/other']],
    [
      'C11.3: an unknown field within the options is refused',
      { ...body, options: { preview: { speed: 1 } } },
      ['/options/preview/speed'],
    ],
    ['C11.3, C27.1: `source_bucket` is refused', { ...body, source_bucket: 'other' }, ['/source_bucket']],
    [
      'C11.19: flat options of a video:full are refused',
      { ...body, options: { timestamp_sec: 1, encrypt: true } },
      ['/options/timestamp_sec', '/options/encrypt'],
    ],
    [
      'C22.22: all faults of a body are named at once',
      { type: 'image:thumbnail', hash: '..', source: '/x', options: { outputs: [{ width: 0 }] } },
      ['/hash', '/source', '/options/outputs/0/variant', '/options/outputs/0/width', '/options/outputs/0/format'],
    ],
    ['a body that is no object is refused', [], ['']],
    ['C11.7: a `callback_url` that is no URL is refused', { ...body, callback_url: 'example' }, ['/callback_url']],
    ['C22.2: options that are no object are refused', { ...body, options: 'encrypt' }, ['/options']],
    [
      'C11.3: options of another type are refused',
      { ...body, type: 'video:transcode', options: { fps: 5 } },
      ['/options/fps'],
    ],
  ])('%s', async (_, submission, pointers) => {
    const answer = await api.submit(submission);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    const found: string[] = answer.json.errors.map((fault: { pointer: string }) => fault.pointer);
    expect(new Set(found)).toEqual(new Set(pointers));
    expect(answer.json).toMatchObject({ status: 400, code: 'invalid_request', instance: '/api/jobs' });
  });

  it('C22.22: the detail of a refusal begins with its first three faults, and then says what to do', async () => {
    const options = { outputs: [{ width: 0 }] };
    const { json } = await api.submit({ type: 'image:thumbnail', hash: '..', source: '/x', options });
    expect(json.detail).toMatch(/^hash must .+; source must .+; and \d more faults\.$/);
    const missing = await api.submit({ type: 'video:cover', hash: 'a', source: 'nope.mp4', options: {} });
    expect(missing.json.detail).toBe(
      'source "nope.mp4" does not exist in the source bucket. Upload it, or correct source.',
    );
  });

  it.each([
    ['image:thumbnail', { outputs: [{ variant: 'a', width: 10, format: 'jpg' }] }],
    ['video:cover', { timestamp_sec: 1.5 }],
    ['video:preview', { start_sec: 1, duration: 2, width: 320, fps: 5, format: 'gif' }],
    ['video:transcode', { encrypt: true }],
    ['video:full', { cover: { timestamp_sec: 1 }, preview: { fps: 5 }, transcode: { encrypt: true } }],
  ])('C11.10, C11.14, C11.15, C11.17, C11.18: %s takes the options of its type', async (type, options) => {
    expect((await api.submit({ type, hash: `o${counter++}`, source: 'video.mp4', options })).status).toBe(202);
  });

  it('C11.13: an image without `outputs` gets one variant `thumb` of 300 pixels as webp', async () => {
    const { json } = await api.submit(thumbnail());
    const job = await api.d.jobs.find(json.job_id);
    expect(job?.options).toEqual({ outputs: [{ variant: 'thumb', width: 300, format: 'webp' }] });
  });

  it.each([
    ['video:cover', {}, {}],
    ['video:preview', {}, previewDefaults],
    ['video:transcode', {}, { encrypt: false }],
    ['video:full', {}, { cover: {}, preview: previewDefaults, transcode: { encrypt: false } }],
  ])('C11.13, C11.15, C11.17, C11.18: %s with the options %j gets its defaults', async (type, options, whole) => {
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
    ['video:preview', { fps: 20, duration: 15 }, { fps: 30, duration: 10.01 }, '/options/duration'],
    ['video:preview', { format: 'gif' }, { format: 'mp4' }, '/options/format'],
    ['video:transcode', { encrypt: false }, { encrypt: 1 }, '/options/encrypt'],
  ])(
    'C11.10, C11.11, C11.12, C11.14, C11.15, C11.16, C11.17: %s takes the options %j and refuses %j',
    async (type, taken, refused, pointer) => {
      const sendOptions = (options: object) =>
        api.submit({ type, hash: `b${counter++}`, source: 'video.mp4', options });
      expect((await sendOptions(taken)).status).toBe(202);
      const answer = await sendOptions(refused);
      expect([answer.status, answer.json.errors]).toMatchObject([400, [{ pointer }]]);
      expect(answer.json.errors).toHaveLength(1);
    },
  );

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
  ])('C11.5, C11.6: `%s` may be %.40j and not %.40j', async (field, taken, refused) => {
    const sendField = (value: string) => api.submit(thumbnail({ [field]: value }));
    expect((await sendField(taken)).status).toBe(202);
    const answer = await sendField(refused);
    expect([answer.status, answer.json.errors]).toMatchObject([400, [{ pointer: `/${field}` }]]);
  });

  it('C27.1: a `source` that looks like an address of another store is a key of the source bucket', async () => {
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

  it.each([
    'http://127.0.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://[::ffff:10.0.0.1]/',
    'http://2130706433/',
    `https://example.com/${'x'.repeat(2048)}`,
    'ftp://example.com/',
    'https://user:secret@example.com/',
  ])('C11.7, C11.8, C21.15: the callback_url %.60s is refused at submission', async (url) => {
    const answer = await api.submit(thumbnail({ callback_url: url }));
    expect(answer.status).toBe(400);
    expect(answer.json.errors).toMatchObject([{ pointer: '/callback_url' }]);
  });
});
