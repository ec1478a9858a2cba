import { expect, it } from 'vitest';
import { joinPlaylists, parseMediaPlaylist, withByteRanges } from '#domain/media/media-playlist.ts';
import { parseXml } from '#domain/media/xml.ts';
import { readStreamPath } from '#domain/playback/stream-path.ts';
import { readThumb } from '#domain/playback/thumb.ts';
import { thumbVariantOf } from '#domain/playback/thumb-variant.ts';
import { fitLog, fitText } from '#domain/text.ts';
import { wellFormedJson } from '#domain/well-formed-json.ts';
import { acceptsGzip, matchesEtag, readRange } from '#platform/http/request-headers.ts';
import { imageKindOf } from '#platform/images/image-kinds.ts';
import { readMissing, readRawHead, readRefusal } from '#platform/storage/s3/raw/raw-head.ts';
import { readTraceContext } from '#platform/telemetry/trace-context.ts';
import { parseLoudness } from '../../runner/handlers/video-transcode/loudness.ts';
import { parseIdet } from '../../runner/source/interlacing.ts';
import { parsePacketTime } from '../../runner/tools/ffprobe.ts';

// The time of a parser grows with its input and not with the square. Each is measured with two lengths, one sixteen
// times the other: sixteen times the time is linear, 256 times is quadratic. The least of three runs counts, in time of
// the processor, so that other work does not.

const attempt = (read: () => unknown) => {
  try {
    read();
  } catch {
    // A refusal takes time too.
  }
};
const head = (text: string) => Buffer.from(`HTTP/1.1 200 OK\r\n${text}\r\n\r\n`, 'latin1');

const parsers: Readonly<Record<string, (text: string) => unknown>> = {
  parseXml: (text) => parseXml(`<a ${text}`),
  parseMediaPlaylist,
  joinPlaylists: (text) => joinPlaylists([text, text]),
  withByteRanges: (text) => withByteRanges(text, () => null),
  readStreamPath,
  readThumb: (text) =>
    readThumb(
      `/thumb/a/b?${text}`,
      { secrets: ['secret'], presets: new Map(), isUnsigned: false, sourcePrefix: null },
      0,
    ),
  thumbVariantOf: (text) => thumbVariantOf('a.png', { f: 'auto' }, text),
  fitText: (text) => fitText(text, text.length),
  fitLog: (text) => fitLog(text, text.length),
  wellFormedJson,
  readRange: (text) => readRange(text, 100),
  matchesEtag: (text) => matchesEtag(text, text.slice(0, 8)),
  acceptsGzip,
  imageKindOf: (text) => imageKindOf(Buffer.from(text)),
  readRawHead: (text) => readRawHead(head(text)),
  readRefusal: (text) => readRefusal(head(text)),
  readMissing: (text) => readMissing(head(`content-length: 0${text}`)),
  readTraceContext: (text) => readTraceContext(text, text),
  parseLoudness: (text) => parseLoudness(text),
  parseIdet,
  parsePacketTime,
};
const repeated = [
  ' ',
  '\\',
  '"',
  ' a="b"',
  '<a>',
  ',',
  '\nconnection:,',
  '\r\nconnection:, ',
  '%',
  '../',
  'image/avif; ',
  '\n',
  '|a=',
];

const lengthMin = 2000;
const factor = 16;

function leastMs(parse: (text: string) => unknown, text: string): number {
  const times = Array.from({ length: 3 }, () => {
    const before = process.threadCpuUsage();
    attempt(() => parse(text));
    return process.threadCpuUsage(before).user / 1000;
  });
  return Math.min(...times);
}

it.each(Object.entries(parsers))('%s takes a time that grows with the length of its input', (_, parse) => {
  const slow = repeated.filter((unit) => {
    const text = unit.repeat(Math.ceil((lengthMin * factor) / unit.length));
    const longMs = leastMs(parse, text);
    // A quadratic parser takes far longer than this at such a length.
    return longMs > 40 && longMs > 4 * factor * leastMs(parse, text.slice(0, lengthMin));
  });
  expect(slow).toEqual([]);
});
