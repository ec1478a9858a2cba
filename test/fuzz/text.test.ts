import { array, constantFrom, integer, oneof, tuple } from 'fast-check';
import { describe, expect } from 'vitest';
import { chapterCues, isChapterTitle, planChapters } from '#domain/media/chapters.ts';
import { languageTag } from '#domain/media/languages.ts';
import { parseMediaPlaylist, sharedTargetDuration } from '#domain/media/media-playlist.ts';
import { isTrackName, trackName, trackNameMax } from '#domain/media/track-names.ts';
import { parseXml, writeXml } from '#domain/media/xml.ts';
import { fitLog, fitText } from '#domain/text.ts';
import { wellFormedJson } from '#domain/well-formed-json.ts';
import { LineReader } from '#platform/commands/line-reader.ts';
import { parseLoudness } from '../../runner/handlers/video-transcode/loudness.ts';
import { parseIdet } from '../../runner/source/interlacing.ts';
import { parseFrameSize } from '../../runner/source/largest-frame.ts';
import { ProgressReader } from '../../runner/tools/ffmpeg.ts';
import { parsePacketTime } from '../../runner/tools/ffprobe.ts';
import { fuzz } from '../../testing/fuzz.ts';
import { anyText, anyValue, stringsIn } from '../../testing/hostile-values.ts';

// Texts that sources and tools wrote.

const max = integer({ min: 1, max: 300 });

describe('text of sources', () => {
  fuzz('text and logs are bounded, well-formed and printable', { of: tuple(anyText, max) }, ([text, length]) => {
    const [line, log] = [fitText(text, length), fitLog(text, length)];
    expect([line.length <= length, log.length <= length]).toEqual([true, true]);
    expect([line.isWellFormed(), log.isWellFormed()]).toEqual([true, true]);
    // eslint-disable-next-line no-control-regex -- these are what must not be left
    expect(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(line)).toBe(false);
    expect(fitText(line, length)).toBe(line);
  });

  fuzz('JSON of any value is well-formed without NUL, and parses', { of: anyValue }, (value) => {
    let json: string | undefined;
    try {
      json = wellFormedJson([value]);
    } catch (thrown) {
      // What JSON does not have: big integers, and objects that hold themselves.
      expect(thrown).toBeInstanceOf(TypeError);
      return;
    }
    for (const text of stringsIn(JSON.parse(json)))
      expect([text.isWellFormed(), text.includes('\0')]).toEqual([true, false]);
  });

  fuzz('names and chapters are as `publish` accepts them', { of: array(anyText, { maxLength: 5 }) }, (titles) => {
    for (const title of titles) {
      const name = trackName(title, languageTag(title), 'Track 1');
      expect([isTrackName(name), name.length <= trackNameMax]).toEqual([true, true]);
    }
    const found = titles.map((title, index) => ({ startSec: index, endSec: index + 1, title }));
    const chapters = planChapters(found, 10);
    expect(chapters.every(({ title }) => isChapterTitle(title))).toBe(true);
    expect(chapterCues(chapters).matchAll(/-->/g).toArray().length).toBeGreaterThanOrEqual(chapters.length);
  });
});

describe('playlists and manifests', () => {
  const line = oneof(
    constantFrom('#EXTM3U', '#EXTINF:', '#EXTINF:NaN,', '#EXTINF:-1', '#EXTINF:1e999,', '#EXT-X-TARGETDURATION:x'),
    constantFrom('#EXT-X-BYTERANGE:', '#EXT-X-BYTERANGE:-5@-1', '#EXT-X-ENDLIST', 'seg_1.m4s'),
    anyText,
  );
  fuzz(
    'any playlist is read into finite numbers, or refused',
    { of: array(line).map((lines) => lines.join('\n')) },
    (text) => {
      try {
        const read = parseMediaPlaylist(text);
        expect(Number.isFinite(sharedTargetDuration([read]))).toBe(true);
        expect(read.segments.every(({ durationSec }) => Number.isFinite(durationSec) && durationSec >= 0)).toBe(true);
      } catch (thrown) {
        expect((thrown as Error).message).toMatch(/^expected a number in a media playlist/);
      }
    },
  );

  const token = oneof(
    constantFrom('<a>', '</a>', '<a b="c"/>', '<!--', '-->', '<![CDATA[', '<!DOCTYPE a>', '&lt;', '<?x?>'),
    anyText,
  );
  fuzz(
    'any XML is read, or refused with a SyntaxError; it is never larger when it is written',
    { of: array(token).map((all) => all.join('')), examples: [`${'<a>'.repeat(50_000)}${'</a>'.repeat(50_000)}`] },
    (text) => {
      let written = '';
      try {
        written = writeXml(parseXml(text));
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(SyntaxError);
      }
      // Six for a character that is escaped, and the indentation.
      expect(written.length).toBeLessThanOrEqual(200 + 70 * text.length);
    },
  );
});

describe('output of tools', () => {
  const field = tuple(
    constantFrom('stream_index', 'pts_time', 'dts_time', 'duration_time', 'flags', 'width', 'height'),
    anyText,
  );
  const fields = array(field).map((all) => all.map((pair) => pair.join('=')).join('|'));
  fuzz('a line of ffprobe is read into finite numbers, or null', { of: oneof(fields, anyText) }, (text) => {
    const packet = parsePacketTime(text);
    if (packet !== null)
      expect([packet.timeSec, packet.durationSec].every((value) => Number.isFinite(value))).toBe(true);
    const frame = parseFrameSize(text);
    if (frame !== null) expect([frame.width, frame.height, frame.sampleAspect].every((value) => value > 0)).toBe(true);
  });
  fuzz(
    'statistics of ffmpeg are read without throwing',
    { of: array(anyText).map((all) => all.join('\n')) },
    (text) => {
      parseIdet(text);
      parseLoudness(text);
      const progress = new ProgressReader(() => {});
      for (const each of text.split('\n')) progress.line(each);
      expect(progress.frames).toBeGreaterThanOrEqual(0);
    },
  );

  const text = array(oneof(constantFrom('\r', '\n', '\r\n', 'ä', '😀', 'x'), anyText)).map((all) => all.join(''));
  fuzz(
    'lines are the same wherever their bytes are cut',
    { of: tuple(text, array(integer({ min: 1, max: 9 }), { minLength: 1 })) },
    ([all, cuts]) => {
      const bytes = Buffer.from(all);
      const read = (sizes: readonly number[]) => {
        const lines: string[] = [];
        const reader = new LineReader((each) => lines.push(each));
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const end = at + (sizes[turn % sizes.length] ?? 1);
          reader.write(bytes.subarray(at, end));
          at = end;
        }
        reader.end();
        return lines;
      };
      expect(read(cuts)).toEqual(read([bytes.length + 1]));
    },
  );
});
