import { CmcdObjectType, encodeCmcd, decodeCmcd, toCmcdHeaders } from '@svta/cml-cmcd';
import { describe, expect, it } from 'vitest';
import { cmcdLengthMax, type PlayerState, readCmcd } from './cmcd.ts';

const nothing: PlayerState = {
  object: 'unnamed',
  isStarved: false,
  isStartup: false,
  bufferMs: null,
  throughputKbps: null,
  bitrateKbps: null,
  startDelayMs: null,
  sessionId: null,
};
const inQuery = (text: string) => readCmcd(`/stream/movie/x.m4s?CMCD=${encodeURIComponent(text)}`, {});

describe('what a player says', () => {
  it.each<readonly [text: string, state: Partial<PlayerState> | null]>([
    [
      'bl=21300,br=3200,bs,cid="faec5fc2",d=4004,mtp=25400,ot=v,pr=1.08,sf=h,sid="6e2f-b550",st=v,su,tb=6000',
      {
        object: 'video',
        isStarved: true,
        isStartup: true,
        bufferMs: 21_300,
        throughputKbps: 25_400,
        bitrateKbps: 3_200,
        sessionId: '6e2f-b550',
      },
    ],
    ['ot=m', { object: 'manifest' }],
    ['ot=av , bs=?1, su=?0', { object: 'muxed', isStarved: true }],
    ['bs=?0,sid="x"', { sessionId: 'x' }],
    ['ot=zz', { object: 'other' }],
    ['ot=constructor', { object: 'other' }],
    ['nor="a%2Cb,c.m4s",com.example-key="a, \\"b\\"=",bl=100', { bufferMs: 100 }],
    // Version 2 has lists, with parameters.
    [
      'bl=(2000;v 1000;a),br=(3200 128),msd=900,v=2,nor=("a(1).m4s";r="0-9")',
      { bufferMs: 2_000, bitrateKbps: 3_200, startDelayMs: 900 },
    ],
    ['bl=1.5', { bufferMs: 1 }],
    // What no player can mean.
    ['bl=-5,ot=a', { object: 'audio' }],
    ['bl=9999999999,mtp=99999999,br=NaN,msd=1e9,ot=a', { object: 'audio' }],
    [`sid="${'x'.repeat(65)}",bs`, { isStarved: true }],
    ['', null],
    ['x=1', null],
    ['__proto__=1', null],
    ['BL=100', null],
    ['bl=', null],
    ['bl=1,,ot=v', null],
    ['bl="100', null],
    ['=', null],
    [Array.from({ length: 100 }, (_, n) => `k${n}=1`).join(), null],
    [`ot=v,x="${'a'.repeat(cmcdLengthMax)}"`, null],
  ])('%s', (text, state) => {
    const expected = state === null ? null : { ...nothing, ...state };
    expect(inQuery(text)).toEqual(expected);
    expect(readCmcd('/stream/movie/x.m4s', { 'cmcd-session': text })).toEqual(expected);
  });

  it('the four headers are one dictionary, and a query wins over them', () => {
    const headers = { 'cmcd-object': 'ot=v,br=500', 'cmcd-request': 'bl=1000,su', 'cmcd-status': 'bs' };
    const state = { ...nothing, object: 'video', bitrateKbps: 500, bufferMs: 1000, isStartup: true, isStarved: true };
    expect(readCmcd('/stream/movie/x.m4s?other=1', headers)).toEqual(state);
    expect(readCmcd('/stream/movie/x.m4s?a=b&CMCD=ot%3Da&c', headers)).toEqual({ ...nothing, object: 'audio' });
  });

  it.each([
    '/stream/movie/x.m4s',
    '/stream/movie/x.m4s?',
    '/x?cmcd=ot%3Dv',
    '/x?XCMCD=ot%3Dv',
    '/x?CMCD=%zz',
    '/x?CMCD=',
  ])('%s says nothing', (url) => expect(readCmcd(url, { 'cmcd-object': undefined, accept: 'ot=v' })).toBeNull());
});

// The library of the CTA's members writes and reads the same dictionary; decision 0331 says why it is not in the service.
describe('beside the library that players use', () => {
  const data = {
    bl: 21_300,
    br: 3_200,
    bs: true,
    mtp: 25_400,
    ot: CmcdObjectType.VIDEO,
    sid: '6e2fb550-c457-11e9-bb97-0800200c9a66',
    su: true,
    nor: ['../seg_(2), "x".m4s'],
  } as never;

  it('what it writes as text and as headers is read as it was meant', () => {
    const state = inQuery(encodeCmcd(data));
    expect(state).toEqual({
      ...nothing,
      object: 'video',
      isStarved: true,
      isStartup: true,
      bufferMs: 21_300,
      throughputKbps: 25_400,
      bitrateKbps: 3_200,
      sessionId: '6e2fb550-c457-11e9-bb97-0800200c9a66',
    });
    const headers = Object.entries(toCmcdHeaders(data)).map(([name, value]) => [name.toLowerCase(), value]);
    expect(readCmcd('/stream/movie/x.m4s', Object.fromEntries(headers))).toEqual(state);
  });

  it.each([
    'bl=100,ot=v',
    'bs, su ,ot=a',
    'ot=v,bl=',
    'ot=v,,bl=1',
    'sid="a\\"b",bl=1',
    'ot=v;x=1,bl=5',
    'ot="v',
    '(bl=1',
  ])('it takes and refuses the same of %s', (text) => {
    const theirs = (() => {
      try {
        return decodeCmcd<{ bl?: number }>(text);
      } catch {
        return null;
      }
    })();
    expect(inQuery(text)?.bufferMs ?? null).toBe(theirs?.bl ?? null);
  });
});
