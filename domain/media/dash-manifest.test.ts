import { describe, expect, it } from 'vitest';
import { folderOf, isAt, joinManifests, segmentTimes } from './dash-manifest.ts';
import { xmlElement } from './xml.ts';

const track = (
  id: number,
  folder: string,
  { bandwidth = 1000, segments = '' },
) => `      <Representation id="${id}" bandwidth="${bandwidth}" codecs="avc1.64000d" mimeType="video/mp4" sar="1:1">
        <SegmentTemplate timescale="30000" initialization="${folder}/init.mp4" media="${folder}/seg_$Number$.m4s" startNumber="1">
          <SegmentTimeline>
${segments}          </SegmentTimeline>
        </SegmentTemplate>
      </Representation>
`;
const manifest = (kind: string, tracks: string) => `<?xml version="1.0" encoding="UTF-8"?>
<MPD type="static" mediaPresentationDuration="PT6.006S">
  <Period id="0">
    <AdaptationSet id="0" contentType="${kind}">
${tracks}    </AdaptationSet>
  </Period>
</MPD>
`;
const segment = (start: number, more = '') => `            <S t="${start}" d="180180"${more}/>\n`;
const chunk = (start: number, bandwidth: number) =>
  manifest(
    'video',
    track(0, 'video/r180_h264', { segments: segment(start) }) +
      track(1, 'video/r360_h264', { bandwidth, segments: segment(start) }),
  );

describe('the manifest of a stream that was encoded in chunks', () => {
  it('the manifest of a stream lists the segments of every chunk, its audio, and no dropped rung', () => {
    const audio = manifest('audio', track(0, 'audio/en', { segments: segment(0, ' r="1"') }));
    const folders = ['video/r360_h264', 'audio/en'];
    const joined = joinManifests({
      chunks: [chunk(0, 5000), chunk(180_180, 7000)],
      audio,
      folders,
      durationSec: 12.012,
    });
    const video = track(0, 'video/r360_h264', { bandwidth: 7000, segments: segment(0) + segment(180_180) });
    const english = track(1, 'audio/en', { segments: segment(0, ' r="1"') });
    const sets = `    </AdaptationSet>\n    <AdaptationSet id="1" contentType="audio">\n`;
    expect(joined).toBe(manifest('video', video + sets + english).replace('PT6.006S', 'PT12.012S'));
    expect(segmentTimes(joined, 'video/r360_h264')).toEqual({ timescale: 30_000, start: 0, duration: 360_360 });
    expect(segmentTimes(joined, 'audio/en')).toEqual({ timescale: 30_000, start: 0, duration: 360_360 });
    expect(segmentTimes(joined, 'video/r180_h264')).toBeNull();
  });

  it('the times of a chunk are compared with its place on the grid to the tick', () => {
    const rate = { num: 30_000, den: 1001 };
    const times = { timescale: 30_000, start: 180_180, duration: 60_060 };
    expect(isAt(times, { firstFrame: 180, frames: 60 }, rate)).toBe(true);
    expect(isAt({ ...times, start: 182_182 }, { firstFrame: 180, frames: 60 }, rate)).toBe(false);
    expect(isAt(times, { firstFrame: 180, frames: 61 }, rate)).toBe(false);
    const empty = segmentTimes(manifest('video', track(0, 'video/r360_h264', {})), 'video/r360_h264');
    expect(empty && isAt(empty, { firstFrame: 0, frames: 0 }, rate)).toBe(false);
  });

  it('a stream may be without audio, and every chunk has its rungs', () => {
    const folders = ['video/r180_h264', 'video/r360_h264'];
    const [first, second] = [chunk(0, 5000), chunk(180_180, 4000)];
    const joined = joinManifests({ chunks: [first, second], audio: null, folders, durationSec: 12.012 });
    const tracks =
      track(0, 'video/r180_h264', { segments: segment(0) + segment(180_180) }) +
      track(1, 'video/r360_h264', { bandwidth: 5000, segments: segment(0) + segment(180_180) });
    expect(joined).toBe(manifest('video', tracks).replace('PT6.006S', 'PT12.012S'));
    const short = manifest('video', track(0, 'video/r180_h264', { segments: segment(180_180) }));
    const missing = () => joinManifests({ chunks: [first, short], audio: null, folders, durationSec: 12.012 });
    expect(missing).toThrow(new TypeError('a chunk has no track video/r360_h264'));
  });

  it('a stream has a chunk at least', () => {
    expect(() => joinManifests({ chunks: [], audio: null, folders: [], durationSec: 0 })).toThrow(
      new TypeError('a stream without chunks'),
    );
  });

  it('a track without segments has no folder', () => {
    const unnumbered = xmlElement('SegmentTemplate', { initialization: 'video/r360_h264/init.mp4' });
    const tracks = [[], [unnumbered]].map((children) => xmlElement('Representation', {}, children));
    expect(tracks.map(folderOf)).toEqual([null, null]);
  });
});
