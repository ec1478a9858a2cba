import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Parser } from 'm3u8-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseMediaPlaylist } from '#domain/media/media-playlist.ts';
import { videoKey } from '#domain/media/object-keys.ts';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { split } from '../../testing/chunked.ts';
import { decodingErrors, packetTimes, probeStreams, runTool, sample, similarity } from '../../testing/media.ts';
import { removeRigs, type RunnerRig, runnerRig, runToResult, wholeTrack } from '../../testing/runner.ts';

// Rungs of HEVC and AV1, and HDR that is kept, judged by decoded frames.

afterAll(removeRigs);

const { byName } = mediaProfilesSchema.parse({
  profiles: {
    all: {
      ladder: [
        { short_side: 90, bitrate: 300_000 },
        { short_side: 180, bitrate: 800_000 },
        { codec: 'hevc', short_side: 180, bitrate: 600_000 },
        { codec: 'av1', short_side: 180, bitrate: 500_000 },
      ],
      first_bitrate: 300_000,
      hevc: { preset: 'ultrafast' },
      av1: { preset: 12 },
      hdr: 'keep',
    },
  },
});
const profile = byName.get('all') ?? null;

const transfers = { pq: 'smpte2084', hlg: 'arib-std-b67' } as const;

/** HDR of 13 s with the mastering of a display. */
function hdrSource(hdr: keyof typeof transfers): Promise<string> {
  const transfer = transfers[hdr];
  const mastering =
    'master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50):max-cll=1000,400';
  const x265 = `log-level=error:colorprim=bt2020:transfer=${transfer}:colormatrix=bt2020nc`;
  return sample(
    `kept-${hdr}.mp4`,
    `-f lavfi -i testsrc2=s=320x180:r=25:d=13 -f lavfi -i sine=d=13 -vf format=yuv420p10le -c:v libx265 -preset ultrafast -crf 12 ` +
      `-x265-params ${x265}${hdr === 'pq' ? `:hdr10=1:${mastering}` : ''} -color_primaries bt2020 -color_trc ${transfer} -colorspace bt2020nc -tag:v hvc1 -c:a aac`,
  );
}

async function made(rig: RunnerRig<'video:transcode'>, env?: Record<string, string>) {
  return { ...(await runToResult(rig, env)), rig };
}
type Made = Awaited<ReturnType<typeof made>>;

function trackOf({ results }: Made, id: string) {
  const track = results.video_tracks.find((each) => each.id === id);
  if (track === undefined) throw new Error(`no track ${id}: ${JSON.stringify(results.warnings)}`);
  return track;
}

async function masteringIn(path: string): Promise<string[]> {
  const frame = ['-select_streams', 'v:0', '-read_intervals', '%+#1', '-show_frames', '-of', 'json', path];
  const { frames } = JSON.parse(await runTool('ffprobe', ['-v', 'error', ...frame])) as {
    frames: { side_data_list?: { side_data_type?: string; max_luminance?: string; max_content?: number }[] }[];
  };
  return (frames[0]?.side_data_list ?? []).flatMap(
    ({ side_data_type: type = '', max_luminance: most, max_content: content }) => {
      const [value = 0, by = 1] = (most ?? '').split('/').map(Number);
      if (type.startsWith('Mastering')) return [`${Math.round(value / by)} cd/m²`];
      return type.startsWith('Content light') ? [`${content} at most`] : [];
    },
  );
}

describe('rungs of several codecs', () => {
  let source: string;
  let stream: Made;
  let master: string;

  beforeAll(async () => {
    source = await hdrSource('pq');
    stream = await made(await runnerRig('video:transcode', source, {}, profile));
    master = await readFile(stream.rig.at(videoKey('clip-1', stream.rev, 'master.m3u8')), 'utf8');
  });

  it('C16.6: a profile has rungs of H.264, HEVC and AV1 in one stream, on one grid', async () => {
    expect(stream.results.video_tracks.map(({ id, codec, hdr }) => [id, codec, hdr])).toEqual([
      ['r90_h264', 'h264', 'none'],
      ['r180_h264', 'h264', 'none'],
      ['r180_hevc', 'hevc', 'pq'],
      ['r180_av1', 'av1', 'pq'],
    ]);
    expect(stream.results.warnings).toEqual([]);
    const times = await packetTimes(await wholeTrack(stream.rig, trackOf(stream, 'r180_h264')));
    for (const track of stream.results.video_tracks) {
      const path = await wholeTrack(stream.rig, track);
      expect(await decodingErrors(path), track.id).toBe('');
      expect(await packetTimes(path), track.id).toEqual(times);
      const { segments } = parseMediaPlaylist(await readFile(stream.rig.at(track.playlist), 'utf8'));
      expect(
        segments.map(({ durationSec }) => durationSec),
        track.id,
      ).toEqual([6, 6, 1]);
      const iframes = await readFile(stream.rig.at(join(track.playlist, '../iframes.m3u8')), 'utf8');
      expect(parseMediaPlaylist(iframes).segments, track.id).toHaveLength(7);
    }
  });

  it('C16.6: the master states codec, range and rank of each variant, H.264 first', () => {
    const parser = new Parser();
    parser.push(master);
    parser.end();
    const found = [...master.matchAll(/^#EXT-X-STREAM-INF:.*CODECS="([^",]+),.*VIDEO-RANGE=(\w+),SCORE=(\d)/gm)];
    expect(found.map(([, codec = '', range, score]) => [codec.split('.')[0], range, score])).toEqual([
      ['avc1', 'SDR', '1'],
      ['avc1', 'SDR', '2'],
      ['hvc1', 'PQ', '3'],
      ['av01', 'PQ', '4'],
    ]);
    expect(parser.manifest.playlists.map(({ attributes }) => attributes.CODECS).slice(4)).toEqual(['mp4a.40.2']);
  });

  it('C16.8, C16.9: HEVC and AV1 keep HDR with its metadata where the profile says so, and H.264 is mapped', async () => {
    for (const id of ['r180_hevc', 'r180_av1']) {
      const path = await wholeTrack(stream.rig, trackOf(stream, id));
      expect((await probeStreams(path))[0], id).toMatchObject({
        pix_fmt: 'yuv420p10le',
        color_range: 'tv',
        color_transfer: 'smpte2084',
        color_primaries: 'bt2020',
        color_space: 'bt2020nc',
      });
      expect(await masteringIn(path), id).toEqual(['1000 cd/m²', '1000 at most']);
      // The signal equals the source's.
      expect(await similarity(path, source), id).toBeGreaterThan(0.9);
    }
    const mapped = await wholeTrack(stream.rig, trackOf(stream, 'r180_h264'));
    expect((await probeStreams(mapped))[0]).toMatchObject({ pix_fmt: 'yuv420p', color_transfer: 'bt709' });
    expect(await masteringIn(mapped)).toEqual([]);
  });

  it('C16.6: a long video with rungs of HEVC or AV1 stays one piece', async () => {
    const long = await sample(
      'kept-long.mp4',
      '-f lavfi -i testsrc2=s=128x72:r=25:d=19 -c:v libx264 -preset ultrafast -g 50',
    );
    const one = {
      ladder: [{ codec: 'hevc' as const, short_side: 72, bitrate: 100_000 }],
      hevc: { preset: 'ultrafast' },
    };
    const named = mediaProfilesSchema.parse({ profiles: { one } }).byName.get('one') ?? null;
    const rig = await runnerRig('video:transcode', long, {}, named);
    expect(await split(rig)).toBeNull();
    expect((await rig.manifest())?.results.video_tracks.map(({ id }) => id)).toEqual(['r72_hevc']);
  });

  it('C16.7: a codec that the tools lack is left out with a warning, and one rung stays', async () => {
    const brief = await sample('kept-brief.mp4', '-f lavfi -i testsrc2=s=128x72:r=25:d=1 -c:v libx264');
    const rig = await runnerRig('video:transcode', brief, {}, profile);
    const lacking = join(rig.dir, 'ffmpeg-without-hevc');
    const program = findProgram('ffmpeg', process.env);
    const script = `#!/bin/sh\ncase "$*" in *-encoders*) "${program}" "$@" | grep -v libx265;; *) exec "${program}" "$@";; esac\n`;
    await writeFile(lacking, script, { mode: 0o755 });
    const { results } = await made(rig, { FFMPEG_PATH: lacking });
    expect(results.video_tracks.map(({ id }) => id)).toEqual(['r72_h264', 'r72_av1']);
    expect(results.warnings.map(({ code, message }) => [code, message.split(' ')[3]])).toEqual([
      ['codec_left_out', 'hevc'],
    ]);
  });
});
