import { describe, expect, it } from 'vitest';
import { readEventRules, ruleFor, submissionOf } from './event-rules.ts';
import { readNotification } from './notification.ts';

const record = (key: string, object: object = { eTag: 'e1' }, eventName = 's3:ObjectCreated:Put') => ({
  eventName,
  s3: { bucket: { name: 'sources' }, object: { key, ...object } },
});

describe('a notification', () => {
  it.each([
    ['of MinIO', { EventName: 'x', Key: 'y', Records: [record('in/a+b%2Fc%C3%BC.mp4')] }, 'in/a b/cü.mp4', 'e1'],
    [
      'of Amazon S3',
      { Records: [record('a.mp4', { eTag: 'e1', versionId: 'v1' }, 'ObjectCreated:Copy')] },
      'a.mp4',
      'v1',
    ],
    ['without versions', { Records: [record('a.mp4', { eTag: '"e1"', versionId: 'null' })] }, 'a.mp4', 'e1'],
    ['without an ETag', { Records: [record('a.mp4', { sequencer: '0A' })] }, 'a.mp4', '0A'],
    [
      'of EventBridge, whose keys are plain',
      {
        source: 'aws.s3',
        'detail-type': 'Object Created',
        detail: { bucket: { name: 'sources' }, object: { key: 'a+b.mp4', etag: 'e1', 'version-id': 'v2' } },
      },
      'a+b.mp4',
      'v2',
    ],
  ])('the notification %s is read', (_what, body, key, version) => {
    expect(readNotification(body)).toMatchObject({ events: [{ bucket: 'sources', key, version, isCreation: true }] });
  });

  it('the message that tries a new destination has no events, and a removal is no creation', () => {
    expect(readNotification({ Service: 'Amazon S3', Event: 's3:TestEvent' })).toEqual({ events: [] });
    const removed = { Records: [record('a', {}, 's3:ObjectRemoved:Delete')] };
    expect(readNotification(removed)).toMatchObject({ events: [{ isCreation: false }] });
  });

  it.each([
    [undefined, ['']],
    [{}, ['/Records']],
    [{ Records: [{}] }, ['/Records/0/eventName', '/Records/0/s3']],
    [{ Records: [record('a'), record('%zz')] }, ['/Records/1/s3/object/key']],
    [{ Records: Array.from({ length: 1001 }, () => record('a')) }, ['/Records']],
    [{ source: 'aws.ec2', 'detail-type': 'x', detail: {} }, ['/source', '/detail/bucket', '/detail/object']],
  ])('the body %j is refused with every fault', (body, pointers) => {
    const read = readNotification(body);
    expect('faults' in read && read.faults.map(({ pointer }) => pointer)).toEqual(pointers);
  });
});

function rulesOf(document: unknown) {
  const read = readEventRules(document);
  if ('faults' in read) throw new Error(JSON.stringify(read.faults));
  return read.rules;
}

const event = { bucket: 'sources', key: 'in/My clip.mov', version: 'v1', etag: 'abc', isCreation: true };

describe('rules', () => {
  it('the first rule whose prefix and suffix match a key counts', () => {
    const rules = rulesOf([
      { prefix: 'in/', suffix: '.mov', type: 'video:cover' },
      { prefix: 'in/', type: 'image:thumbnail' },
    ]);
    expect(ruleFor(rules, 'in/a.mov')?.type).toBe('video:cover');
    expect(ruleFor(rules, 'in/a.jpg')?.type).toBe('image:thumbnail');
    expect(ruleFor(rules, 'out/a.mov')).toBeNull();
  });

  it.each([
    ['{key}', 'in-My-clip.mov'],
    ['{name}-{etag}', 'My-clip-abc'],
    ['{digest}', '6ff1f26e02c64c6a4ba5bd4b0b4f3c8e'],
    ['cms-{name}', 'cms-My-clip'],
  ])('the template %s makes the hash of the media', (hash, expected) => {
    const [rule] = rulesOf([{ type: 'video:cover', hash, options: { timestamp_sec: 2 } }]);
    const { submission } = rule === undefined ? {} : (submissionOf(rule, event) as { submission?: object });
    const wanted = hash === '{digest}' ? expect.stringMatching(/^[0-9a-f]{32}$/) : expected;
    expect(submission).toMatchObject({ hash: wanted, source: event.key, options: { timestamp_sec: 2 } });
  });

  it('a hash that is too long, or empty, is a fault of the event', () => {
    const [rule] = rulesOf([{ type: 'video:cover', hash: '{key}' }]);
    for (const key of ['a'.repeat(200), '---'])
      expect(rule && submissionOf(rule, { ...event, key })).toMatchObject({ faults: [{ pointer: '/hash' }] });
  });

  it.each([
    [{}, ['']],
    [[{ type: 'video:unknown', prefixes: '' }], ['/0/type', '/0/prefixes']],
    [[{ type: 'video:cover', hash: '{file}' }], ['/0/hash']],
    [[{ type: 'video:cover', options: { second: 1 } }], ['/0/options/second']],
    [[{ type: 'video:cover', callback_url: 'ftp://x' }], ['/0/callback_url']],
  ])('the rules %j have each of their faults reported', (document, pointers) => {
    const read = readEventRules(document);
    expect('faults' in read && read.faults.map(({ pointer }) => pointer)).toEqual(pointers);
  });
});
