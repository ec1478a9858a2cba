import { describe, expect, it } from 'vitest';
import { encodePath, S3Signer } from './s3-signature.ts';

const credentials = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};
const now = new Date('2013-05-24T00:00:00.999Z');
const request = { method: 'GET', host: 'examplebucket.s3.amazonaws.com', path: '/test.txt' } as const;

describe('a signature', () => {
  it('a signature of S3 covers host, date, the hash of no body, and the token of a role', () => {
    const signer = new S3Signer('us-east-1');
    const headers = signer.sign(request, { ...credentials, sessionToken: 'token' }, now);
    expect(headers).toMatchObject({
      host: 'examplebucket.s3.amazonaws.com',
      'x-amz-date': '20130524T000000Z',
      'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      'x-amz-security-token': 'token',
    });
    expect(headers['authorization']).toContain(
      'Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, ' +
        'SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=',
    );
  });

  it('a signature follows the day and the keys, also when they change while the program runs', () => {
    const kept = new S3Signer('us-east-1');
    const inTurn = [
      [credentials, now],
      [credentials, new Date('2013-05-25T00:00:00Z')],
      [{ ...credentials, secretAccessKey: 'another' }, new Date('2013-05-25T00:00:00Z')],
      [credentials, now],
    ] as const;
    const signatures = inTurn.map(([keys, date]) => kept.sign(request, keys, date)['authorization']);
    expect(signatures).toEqual(
      inTurn.map(([keys, date]) => new S3Signer('us-east-1').sign(request, keys, date)['authorization']),
    );
    expect(new Set(signatures).size).toBe(3);
  });
});

describe('a path', () => {
  it.each([
    ['/bucket/a/b.m4s', '/bucket/a/b.m4s'],
    ['/b/a b+c', '/b/a%20b%2Bc'],
    ["/b/!'()*~-._", '/b/%21%27%28%29%2A~-._'],
    ['/b/grün/🎬', '/b/gr%C3%BCn/%F0%9F%8E%AC'],
    ['/b/%2F?#', '/b/%252F%3F%23'],
    ['/b//a', '/b//a'],
  ])('%j is sent as %j', (path, encoded) => {
    expect(encodePath(path)).toBe(encoded);
  });
});
