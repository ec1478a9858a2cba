import { readFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { Parser } from 'm3u8-parser';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { videoKey } from '#domain/media/object-keys.ts';
import { channelLevels, probeStreams, sample } from '../../testing/media.ts';
import { removeRigs, runnerRig, runToResult, wholeTrack } from '../../testing/runner.ts';

// Loudness and 5.1 by profile, judged by decoded samples.

afterAll(removeRigs);

const { byName } = mediaProfilesSchema.parse({
  profiles: { surround: { ladder: [{ short_side: 64, bitrate: 100_000 }], audio: { loudness: -16, surround: true } } },
});
const profile = byName.get('surround') ?? null;

const pattern = (seconds: number) => `-f lavfi -i testsrc2=s=64x64:r=25:d=${seconds}`;
const x264 = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p';
const tone = (amplitude: number) => `${amplitude}*sin(2*PI*997*t)`;
/** Audio of an amplitude that is a tenth for its first half, in both channels. */
const steps = (amplitude: number) =>
  `-f lavfi -i aevalsrc=${`${tone(amplitude)}*if(lt(t\\,3)\\,0.1\\,1)|`.repeat(2).slice(0, -1)}:s=48000:d=6`;

describe('loudness by profile', () => {
  it('C16.3: tracks get the loudness of the profile by one gain, as far as their peaks allow, and silence stays silent', async () => {
    const peaks = `-f lavfi -i aevalsrc=0.9*eq(mod(n\\,48000)\\,0)+${tone(0.02)}:s=48000:d=6`;
    const source = await sample(
      'loudness-profile.mkv',
      `${pattern(6)} ${steps(0.02)} ${steps(0.9)} -f lavfi -i anullsrc=r=48000:cl=stereo:d=6 ${peaks} ` +
        `-map 0 -map 1 -map 2 -map 3 -map 4 ${x264} -c:a flac`,
    );
    const rig = await runnerRig('video:transcode', source, {}, profile);
    const { results } = await runToResult(rig);
    const [quiet, loud, silent, peaked] = results.audio_tracks;
    for (const track of [quiet, loud]) {
      if (track === undefined) throw new Error('no track');
      expect(track.loudness?.integrated_lufs).toBeCloseTo(-16, 0);
      const path = await wholeTrack(rig, track);
      const [[before = 0], [after = 0]] = [await channelLevels(path, 1, 2), await channelLevels(path, 4, 5)];
      // One gain for both halves: they stay 20 dB apart.
      expect(after - before).toBeCloseTo(20, 0);
    }
    expect(silent?.loudness).toBeNull();
    expect(peaked?.loudness?.integrated_lufs).toBeLessThan(-20);
    expect(peaked?.loudness?.true_peak_dbtp).toBeLessThan(0);
    expect(results.warnings.map(({ code, message }) => [code, message.split(' ')[2]])).toEqual([
      ['loudness_limited', peaked?.id],
    ]);
  });
});

/** A tone of its own in each channel, a low one in that for low tones. */
const surround = (layout: string, channels: number, seconds: number) =>
  `-f lavfi -i aevalsrc=${Array.from({ length: channels }, (_, index) => `0.1*sin(2*PI*${index === 3 ? 60 : 300 + 100 * index}*t)`).join('|')}:c=${layout}:s=48000:d=${seconds}`;

describe('5.1 by profile', () => {
  it('C16.4: audio with 5.1 channels or more is there as stereo and as 5.1, each in a group of its own', async () => {
    const source = await sample(
      'surround.mkv',
      `${pattern(7)} ${surround('7.1', 8, 7)} -f lavfi -i sine=f=440:r=48000:d=7 -map 0 -map 1 -map 2 ${x264} -c:a flac ` +
        '-metadata:s:a:0 language=eng -metadata:s:a:1 language=ger',
    );
    const rig = await runnerRig('video:transcode', source, {}, profile);
    const { results, rev } = await runToResult(rig);
    expect(results.audio_tracks.map(({ id, channels, role }) => [id, channels, role])).toEqual([
      ['audio_en_aac_2ch', 2, 'main'],
      ['audio_en_aac_6ch', 6, 'main'],
      ['audio_de_aac_2ch', 2, 'alternate'],
    ]);
    expect(results.streaming.default_audio_track_id).toBe('audio_en_aac_2ch');
    const [stereo, wide] = results.audio_tracks;
    if (stereo === undefined || wide === undefined) throw new Error('no 5.1');
    const path = await wholeTrack(rig, wide);
    expect(await probeStreams(path)).toMatchObject([{ codec_name: 'aac', profile: 'LC', channels: 6 }]);
    // Every channel sounds, the front ones by the same gain.
    const channels = await channelLevels(path, 1, 6);
    expect(channels).toHaveLength(6);
    expect(Math.min(...channels)).toBeGreaterThan(-40);
    expect(Math.abs((channels[0] ?? 0) - (channels[1] ?? 0))).toBeLessThan(1);
    expect(wide.segment_count).toBe(stereo.segment_count);
    const text = await readFile(rig.at(videoKey('clip-1', rev, 'master.m3u8')), 'utf8');
    const parser = new Parser();
    parser.push(text);
    parser.end();
    const { playlists, mediaGroups } = parser.manifest;
    // The last variant is audio alone.
    expect(playlists.map(({ attributes }) => attributes.AUDIO)).toEqual(['audio', 'surround', 'audio']);
    expect(Object.keys(mediaGroups.AUDIO['surround'] ?? {})).toEqual(['English', 'German']);
    expect(await readFile(rig.at(videoKey('clip-1', rev, 'manifest.mpd')), 'utf8')).toMatch(
      /<AudioChannelConfiguration [^>]*value="6"/,
    );
  });
});
