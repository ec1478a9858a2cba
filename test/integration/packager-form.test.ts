import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { parseXml, writeXml } from '#domain/media/xml.ts';
import { trackPaths } from '#domain/media/revision-layout.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { runCommand } from '#platform/commands/run-command.ts';
import { packageCommand, type PackagedTrack } from '../../runner/tools/packager.ts';
import { runTool } from '../../testing/media.ts';

// What this version of Shaka Packager writes as its DASH manifest, which domain/media/dash-manifest.ts reads.

const grid = { rate: { num: 25, den: 1 }, gopFrames: 50, segmentFrames: 150 };
const contentKey = { kid: '000102030405060708090a0b0c0d0e0f', key: Buffer.alloc(16, 7) };

const track = (kind: PackagedTrack['kind'], id: string, rest: Partial<PackagedTrack>): PackagedTrack => {
  return { kind, id, input: '', language: null, role: null, ...rest };
};

it('the DASH manifest of the packager has the form that is read, and is read and written without a loss', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-packager-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const fragmented = '-movflags +frag_keyframe+empty_moov+default_base_moof';
  const encode = `-c:v libx264 -preset ultrafast -g 50 -keyint_min 50 -sc_threshold 0 -pix_fmt yuv420p ${fragmented}`;
  const sine = `-v error -f lavfi -i sine=f=440:r=48000:d=13 -c:a aac ${fragmented}`;
  for (const size of ['160x90', '320x180'])
    await runTool(
      'ffmpeg',
      `-v error -f lavfi -i testsrc2=s=${size}:r=25:d=13 ${encode} ${size}.mp4`.split(' '),
      folder,
    );
  for (const name of ['en.mp4', 'und.mp4']) await runTool('ffmpeg', [...sine.split(' '), name], folder);
  await writeFile(join(folder, 'text.vtt'), 'WEBVTT\n\n00:00:01.000 --> 00:00:12.000\nGreetings\n');
  const tracks = [
    track('video', 'r90_h264', { input: '160x90.mp4' }),
    track('video', 'r180_h264', { input: '320x180.mp4' }),
    track('audio', 'audio_en_aac_2ch', { input: 'en.mp4', language: 'en', role: 'main' }),
    track('audio', 'audio_und_aac_2ch', { input: 'und.mp4', role: 'alternate' }),
    track('text', 'text_de', { input: 'text.vtt', language: 'de', role: 'subtitle' }),
    track('text', 'text_de_2', { input: 'text.vtt', language: 'de', role: 'subtitle' }),
  ].map((each) => ({ ...each, input: join(folder, each.input) }));
  for (const { kind, id } of tracks)
    await mkdir(join(folder, 'out', dirname(trackPaths(kind, id).playlist)), { recursive: true });
  const encryption = { contentKey, keyEndpoint: 'https://media.example/api/key/h' };
  const program = findProgram('packager', process.env);
  const command = packageCommand(program, { tracks, grid, output: join(folder, 'out'), encryption });
  expect((await runCommand(command, { timeoutMs: 60_000 })).exitCode).toBe(0);

  const written = await readFile(join(folder, 'out/manifest.mpd'), 'utf8');
  // Encoders do not make the same bytes each time.
  const steady = written.replaceAll(/ bandwidth="\d+"/g, ' bandwidth="1000"');
  await expect(steady).toMatchFileSnapshot('../fixtures/packager.mpd');
  expect(writeXml(parseXml(written))).toBe(written.replace(/^<!--.*-->\n/m, ''));
});
