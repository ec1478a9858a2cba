import { describe, expect, it } from 'vitest';
import { type FfprobeStream, isProtected, lengthOf, parseFfprobe, secondsOf, spanOf } from './ffprobe-document.ts';

function streamOf(more: object): FfprobeStream {
  const streams = [{ index: 0, codec_type: 'video', ...more }];
  return parseFfprobe(JSON.stringify({ streams, format: { format_name: 'matroska' } })).streams[0] as FfprobeStream;
}

describe('times that ffprobe prints', () => {
  it.each([
    [undefined, null, null],
    ['N/A', null, null],
    ['0.000000', 0, null],
    ['-1.5', -1.5, null],
    ['12.25', 12.25, 12.25],
  ])('%s is a time of %s and a length of %s', (written, time, length) => {
    expect([secondsOf(written), lengthOf(written)]).toEqual([time, length]);
  });

  it.each([
    ['a duration', { start_time: '5.5', duration: '10' }, 5, { startSec: 0.5, endSec: 10.5 }],
    ['a start earlier than the file states', { start_time: '4', duration: '10' }, 5, { startSec: 0, endSec: 10 }],
    ['no start', { duration: '10' }, 5, { startSec: 0, endSec: 10 }],
    ['no length', { start_time: '5' }, 5, { startSec: 0, endSec: null }],
    [
      'a tag with its end',
      { start_time: '1', tags: { DURATION: '01:02:03.500000000' } },
      1,
      { startSec: 0, endSec: 3722.5 },
    ],
    [
      'a tag of mkvmerge',
      { start_time: '0', tags: { 'DURATION-eng': '00:00:10.040000000' } },
      0,
      { startSec: 0, endSec: 10.04 },
    ],
    ['a tag in a file that begins before 0', { tags: { DURATION: '00:00:10' } }, -0.02, { startSec: 0, endSec: 10 }],
    ['a tag with an end before its start', { tags: { DURATION: '00:00:01' } }, 5, { startSec: 0, endSec: 0 }],
    ['a tag without a time', { tags: { DURATION: 'unknown' } }, 0, { startSec: 0, endSec: null }],
  ])('a stream has its span by %s', (_, stream, fileStartSec, span) => {
    expect(spanOf(streamOf(stream), fileStartSec)).toEqual(span);
  });
});

describe('a stream that states that it is encrypted', () => {
  it.each([
    ['nothing', {}, false],
    ['its sample entry', { codec_tag_string: 'encv' }, true],
    ['data for a decryption module', { side_data_list: [{ side_data_type: 'Encryption initialization data' }] }, true],
    ['the id of its key', { tags: { enc_key_id: 'AAAA' } }, true],
  ])('by %s', (_, stream, expected) => {
    expect(isProtected(streamOf(stream))).toBe(expected);
  });
});
