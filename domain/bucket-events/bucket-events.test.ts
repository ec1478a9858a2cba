import * as fc from 'fast-check';
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

  it('a hash that is too long, or empty, is a fault of the event', () => {
    const [rule] = rulesOf([{ type: 'video:cover', hash: '{key}' }]);
    for (const key of ['a'.repeat(200), '---'])
      expect(rule && submissionOf(rule, { ...event, key })).toMatchObject({ faults: [{ pointer: '/hash' }] });
  });
});

/** The faults that a document of rules has, as `pointer: detail`. */
function ruleFaults(document: unknown): string[] {
  const read = readEventRules(document);
  return 'faults' in read ? read.faults.map(({ pointer, detail }) => `${pointer}: ${detail}`) : [];
}

describe('the bounds of rules', () => {
  const rule = { type: 'video:cover' };

  it('a rule without more than a type matches every key, by a digest of which it names the media', () => {
    expect(rulesOf([rule])).toEqual([
      { type: 'video:cover', prefix: '', suffix: '', hash: '{digest}', new_version: 'rerun' },
    ]);
    expect(rulesOf([])).toEqual([]);
  });

  it.each<[string, object, string[]]>([
    ['a long prefix', { prefix: 'x'.repeat(1025) }, ['/0/prefix: must have at most 1024 characters']],
    ['a long suffix', { suffix: 'x'.repeat(1025) }, ['/0/suffix: must have at most 1024 characters']],
    ['no hash', { hash: '' }, ['/0/hash: must not be empty']],
    ['a long hash', { hash: 'x'.repeat(257) }, ['/0/hash: must have at most 256 characters']],
    [
      'another placeholder',
      { hash: '{keys}' },
      ['/0/hash: may contain {key}, {name}, {etag}, {digest} and no other braces'],
    ],
    ['an open brace', { hash: 'a{' }, ['/0/hash: may contain {key}, {name}, {etag}, {digest} and no other braces']],
    ['another field', { prefx: 'a' }, [expect.stringContaining('did you mean /0/prefix?') as string]],
    ['the longest texts', { prefix: 'x'.repeat(1024), suffix: 'x'.repeat(1024), hash: 'x'.repeat(256) }, []],
    ['every placeholder', { hash: '{key}{name}{etag}{digest}' }, []],
  ])('a rule with %s has the faults %j', (_, more, faults) => {
    expect(ruleFaults([{ ...rule, ...more }])).toEqual(faults);
  });

  it('there are at most a hundred rules, and each is checked as a submission is', () => {
    const rules = Array.from({ length: 101 }, () => rule);
    expect(ruleFaults(rules)).toEqual([': must have at most 100 items']);
    expect(ruleFaults(rules.slice(1))).toEqual([]);
    expect(ruleFaults([rule, { ...rule, callback_url: 'ftp://x' }])).toEqual([
      '/1/callback_url: must be an http or https URL',
    ]);
  });
});

const submissionBy = (rule: object, key = event.key, etag = event.etag) => {
  const [only] = rulesOf([{ type: 'video:cover', ...rule }]);
  const made = only && submissionOf(only, { ...event, key, etag });
  return made?.submission;
};

describe('the submission of an event', () => {
  it('has options and receiver of its rule, or none', () => {
    expect(submissionBy({ callback_url: 'https://a.example/', options: { timestamp_sec: 2 } })).toMatchObject({
      callbackUrl: 'https://a.example/',
      options: { timestamp_sec: 2 },
    });
    expect(submissionBy({})).toMatchObject({ callbackUrl: null, options: {}, type: 'video:cover' });
  });

  it.each([
    ['{key}', 'in/ä b/c.mov', 'in---b-c.mov'],
    ['{key}', '.../..a...b', 'a.b'],
    ['{name}', 'in/My.clip.mov', 'My.clip'],
    ['{name}', 'in/clip', 'clip'],
    ['{name}', 'clip.mov', 'clip'],
    ['{etag}', 'a', 'abc-1'],
    ['{name}-{name}', 'a.mov', 'a-a'],
    // printf a.mov | sha256sum | cut -c1-32
    ['{digest}', 'a.mov', '2783dce0e5b574bcd83ac2ba37e2dc2d'],
    ['fixed', 'a.mov', 'fixed'],
  ])('the template %s makes of the key %s the hash %s', (hash, key, expected) => {
    expect(submissionBy({ hash }, key, 'abc-1')?.hash).toBe(expected);
  });

  it('whatever a key is, its hash is one of a media or a fault of the event', () => {
    const [rule] = rulesOf([{ type: 'video:cover', hash: 'm-{key}' }]);
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 60 }), (key) => {
        const made = rule && submissionOf(rule, { ...event, key });
        if (made?.submission !== undefined) expect(made.submission.hash).toMatch(/^m-[A-Za-z0-9._~-]*$/);
        else expect(made?.faults).not.toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  it('prefix and suffix are of the whole key', () => {
    const rules = rulesOf([{ type: 'video:cover', prefix: 'in/', suffix: '.mov' }]);
    expect(
      ['in/a.mov', 'in/.mov', 'x/in/a.mov', 'in/a.mov.part', 'in/a'].map((key) => ruleFor(rules, key) !== null),
    ).toEqual([true, true, false, false, false]);
  });
});

const faultsOfBody = (body: unknown) => {
  const read = readNotification(body);
  return 'faults' in read ? read.faults.map(({ pointer, code, detail }) => `${pointer} ${code}: ${detail}`) : [];
};
const bridge = (detailType: string, object: object = {}) => ({
  source: 'aws.s3',
  'detail-type': detailType,
  detail: { bucket: { name: 'b' }, object: { key: 'a', ...object } },
});

describe('what is read of a notification', () => {
  it.each([
    ['s3:ObjectCreated:Put', true],
    ['ObjectCreated:CompleteMultipartUpload', true],
    ['s3:ObjectCreated', false],
    ['x:s3:ObjectCreated:Put', false],
    ['s3:ObjectRemoved:Delete', false],
  ])('the event %s creates an object: %s', (name, isCreation) => {
    expect(readNotification({ Records: [record('a', {}, name)] })).toMatchObject({ events: [{ isCreation }] });
  });

  it('an event of EventBridge creates an object by its detail-type alone', () => {
    const named = { bucket: 'b', key: 'a', etag: '', version: '' };
    expect(readNotification(bridge('Object Created'))).toEqual({ events: [{ ...named, isCreation: true }] });
    expect(readNotification(bridge('Object Deleted'))).toEqual({ events: [{ ...named, isCreation: false }] });
  });

  it.each([
    [record('%zz'), '%zz', '/Records/1/s3/object/key must be URL-encoded, as S3 sends keys'],
    [{}, '', '/Records/1/eventName is required; /Records/1/s3 is required'],
    [null, '', '/Records/1 must be an object, not null'],
    [record(''), '', '/Records/1/s3/object/key must not be empty'],
    [record('x'.repeat(4097)), '', '/Records/1/s3/object/key must have at most 4096 characters'],
    [record('b', {}, 'x'.repeat(257)), 'b', '/Records/1/eventName must have at most 256 characters'],
    [record('b', { eTag: 'x'.repeat(1025) }), 'b', '/Records/1/s3/object/eTag must have at most 1024 characters'],
  ])('a record that is no event is explained, and leaves the others alone: case %#', (wrong, key, fault) => {
    const read = readNotification({ Records: [record('a'), wrong, record('c')] });
    expect(read).toMatchObject({ events: [{ key: 'a' }, { key, fault }, { key: 'c' }] });
  });

  it.each([
    ['of S3', { Records: [record('a%2Fb')] }, [{ key: 'a/b', isCreation: true }]],
    ['of EventBridge', bridge('Object Created'), [{ key: 'a', isCreation: true }]],
    ['that tries the topic', { Event: 's3:TestEvent' }, []],
  ])('the envelope of SNS is opened: a notification %s', (_, message, events) => {
    const envelope = { Type: 'Notification', TopicArn: 'arn:t', Message: JSON.stringify(message) };
    expect(readNotification(envelope)).toMatchObject({ events });
  });

  it.each(['no JSON', '"text"', JSON.stringify({ Type: 'Notification', TopicArn: 't', Message: '{}' })])(
    'an envelope of SNS whose message is %s is a fault, and is opened once',
    (Message) => {
      expect(readNotification({ Type: 'Notification', TopicArn: 'arn:t', Message })).toHaveProperty('faults');
    },
  );

  it.each([
    ['https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=t', true],
    ['https://sns.cn-north-1.amazonaws.com.cn/?Token=t', true],
    ['http://sns.eu-west-1.amazonaws.com/', false],
    ['https://amazonaws.com.example/', false],
    ['https://example/.amazonaws.com', false],
    ['no address', false],
  ])('the address %s of a subscription is shown as Amazon’s: %s', (SubscribeURL, isShown) => {
    const body = { Type: 'SubscriptionConfirmation', TopicArn: 'arn:t', SubscribeURL };
    expect(readNotification(body)).toEqual({
      subscription: { topic: 'arn:t', confirmUrl: isShown ? SubscribeURL : null },
    });
  });

  it.each<[unknown, string[]]>([
    [null, [' invalid_type: must be an object, not null']],
    ['text', [' invalid_type: must be an object, not a string']],
    [{ Event: 's3:OtherEvent' }, ['/Records invalid_type: is required']],
    [bridge('x'.repeat(257)), ['/detail-type too_big: must have at most 256 characters']],
    [{ ...bridge('x'), source: 'other' }, ['/source invalid_value: must be aws.s3']],
    [{ Records: Array.from({ length: 1000 }, () => record('x'.repeat(4096))) }, []],
  ])('of body %# in the table each fault is explained', (body, faults) => expect(faultsOfBody(body)).toEqual(faults));
});
