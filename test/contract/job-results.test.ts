import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { secrets } from '../../testing/programs.ts';
import type { StageService } from '../../testing/stage/service.ts';
import { onStage } from '../../testing/stage/stage.ts';
import { finished, submit } from './service-under-test.ts';

// docs/reference/contract.md, results: the results of jobs that the program of the stage has run on real media.

let service: StageService;

beforeAll(async () => {
  if (inject('postgres')) service = await onStage('service');
});

async function resultsOf(body: object) {
  const ended = await finished(service, await submit(service, { source: 'clip.mp4', ...body }));
  expect(ended).toMatchObject({ status: 'completed', error: null });
  return ended.results;
}

const integer = expect.any(Number) as number;
const number = expect.any(Number) as number;
const artifact = (format: string) => ({ key: expect.any(String) as string, format, size: integer });
const placeholder = {
  blurhash: expect.stringMatching(/^[!-~]{6,}$/) as string,
  dominant_color: expect.stringMatching(/^#[0-9a-f]{6}$/) as string,
};
const imageKey = (key: string) =>
  service.url + signThumbPath(key, { w: 16 }, thumbSecretsOf([], secrets.KEY_TOKEN_SECRET)[0] ?? '');

describe.skipIf(!inject('postgres'))('results', () => {
  it('C14.1, C14.2, C14.3, C14.5, C14.7, C27.3, C27.6: results of a video:transcode have the documented fields and no others', async () => {
    const results = await resultsOf({ type: 'video:transcode', hash: 'table-1', options: { encrypt: true } });
    const prefix = String(results.streaming.master_playlist).slice('videos/'.length, -'/table-1/master.m3u8'.length);
    // C27.4
    expect(prefix).toBe('57');
    const trackKey = (name: string) =>
      expect.stringMatching(new RegExp(`^videos/${prefix}/table-1/[0-9a-f]{16}/${name}$`)) as string;
    const [audioId, videoId] = ['audio_und_aac_2ch', 'r72_h264'];
    expect(results).toEqual({
      streaming: {
        protocol: 'hls',
        container: 'cmaf',
        encrypted: true,
        master_playlist: `videos/${prefix}/table-1/master.m3u8`,
        revision_playlist: trackKey('master\\.m3u8'),
        dash_manifest: trackKey('manifest\\.mpd'),
        default_audio_track_id: audioId,
      },
      audio_tracks: [
        {
          id: audioId,
          role: 'main',
          language: 'und',
          codec: 'aac',
          channels: 2,
          bitrate: integer,
          playlist: trackKey(`audio/${audioId}/playlist\\.m3u8`),
          init: trackKey(`audio/${audioId}/init\\.mp4`),
          segment_count: 1,
          loudness: { integrated_lufs: number, range_lu: number, true_peak_dbtp: number },
        },
      ],
      video_tracks: [
        {
          id: videoId,
          codec: 'h264',
          hdr: 'none',
          width: 128,
          height: 72,
          bitrate: integer,
          playlist: trackKey(`video/${videoId}/playlist\\.m3u8`),
          init: trackKey(`video/${videoId}/init\\.mp4`),
          segment_count: 1,
          audio_track_ids: [audioId],
        },
      ],
      text_tracks: [],
      encryption: {
        scheme: 'cbcs',
        kid: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
        key_endpoint: `${service.url}/api/key/table-1`,
      },
      source: expect.any(Object) as object,
      warnings: [],
    });
    const [audio, video] = [results.audio_tracks[0], results.video_tracks[0]];
    for (const rate of [audio.bitrate, video.bitrate]) expect(Number.isInteger(rate) && rate > 0).toBe(true);
    for (const key of [results.streaming.master_playlist, audio.playlist, audio.init, video.playlist, video.init])
      expect((await stat(join(service.media, key))).size).toBeGreaterThan(0);

    // A key is no address.
    expect((await fetch(`${service.url}/stream/table-1/master.m3u8`)).status).toBe(200);
    expect((await fetch(`${service.url}/${results.streaming.master_playlist}`)).status).toBe(404);
    const token = signPlaybackToken(
      { hash: 'table-1', exp: Math.floor(Date.now() / 1000) + 60 },
      secrets.KEY_TOKEN_SECRET,
    );
    const key = await fetch(results.encryption.key_endpoint, { headers: { authorization: `Bearer ${token}` } });
    expect([key.status, (await key.arrayBuffer()).byteLength]).toEqual([200, 16]);
  });

  it('C14.4: encrypted output has the object `encryption`, clear output has none', async () => {
    const results = await resultsOf({ type: 'video:transcode', hash: 'clear-1' });
    expect(results.streaming.encrypted).toBe(false);
    expect(results).not.toHaveProperty('encryption');
  });

  // How they are made: test/integration/runner-images.test.ts and test/integration/runner-full.test.ts.
  it.each([
    [
      'image:thumbnail',
      { source: 'red.png', options: { outputs: [{ variant: 'a', width: 32, format: 'jpg' }] } },
      {
        outputs: [{ variant: 'a', key: expect.any(String) as string, width: 32, height: 24, format: 'jpg' }],
        ...placeholder,
      },
    ],
    [
      'video:cover',
      { options: { timestamp_sec: 1 } },
      { format: 'jpg', width: 128, height: 72, timestamp_sec: 1, ...placeholder },
    ],
    [
      'video:preview',
      { options: { duration: 1, width: 65, fps: 5 } },
      { format: 'webp', width: 64, height: 36, frames: 5 },
    ],
  ] as const)(
    'C15.1, C15.5, C15.7, C15.4: results of %s have `key` and the documented fields',
    async (type, body, expected) => {
      const { key, size, warnings, ...results } = await resultsOf({ type, hash: 'images-1', ...body });
      expect(warnings ?? []).toEqual([]);
      expect(results).toMatchObject(expected);
      const bytes = (await stat(join(service.media, key))).size;
      const { size: outputSize, key: outputKey } = results.outputs?.[0] ?? { size, key };
      expect([outputKey, outputSize]).toEqual([key, bytes]);
      // C27.3: a key is shown through a signed address.
      expect((await fetch(imageKey(key))).status).toBe(200);
    },
  );

  it("C15.9, C15.10, C15.11, C15.12: results of a video:full have stages, artifacts, a retry plan and the transcode's fields", async () => {
    const { stages, artifacts, retry_plan: plan, streaming } = await resultsOf({ type: 'video:full', hash: 'full-1' });
    const ready = { status: 'ready' };
    expect(stages).toEqual({ source: ready, cover: ready, preview: ready, transcode: ready });
    expect(artifacts).toEqual({ cover: { ...artifact('jpg'), ...placeholder }, preview: artifact('webp') });
    expect(plan).toEqual({
      allowed: false,
      strategy: 'retry_tasks',
      job_types: [],
      stages: [],
      reason: expect.any(String) as string,
    });
    expect(streaming.master_playlist).toMatch(/\/full-1\/master\.m3u8$/);
    for (const { key, size } of [artifacts.cover, artifacts.preview]) {
      expect((await stat(join(service.media, key))).size).toBe(size);
      expect((await fetch(imageKey(key))).status).toBe(200);
    }
  });
});
