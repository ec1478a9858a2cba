import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { mediaProfilesSchema, type NamedProfile } from '#domain/media/profiles.ts';
import { ssimTargetOf } from '#domain/media/quality.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { makeChunked, split } from '../../testing/chunked.ts';
import { runTool, sample, similarity } from '../../testing/media.ts';
import { removeRigs, runnerRig, runToResult, wholeTrack } from '../../testing/runner.ts';

// Quality on target: whole streams are measured by another ffmpeg than the runner's samples. Where no ffmpeg has
// libvmaf, the same targets are judged by SSIM, which the runner then uses too.

afterAll(removeRigs);

const hasVmaf = (await runTool('vmaf', ['-hide_banner', '-filters'])).includes(' libvmaf ');
/**
 * The greatest error of VMAF. The distance of a frame to the best SSIM may differ by as much as that is at a VMAF of
 * 93.
 */
const vmafErrorMax = 1.5;
const ssimErrorMax = vmafErrorMax / (100 - 93);
const errorOf = (lacks: number, wanted: number) => Math.abs(lacks / wanted - 1);

function profileOf(profile: object): NamedProfile {
  const { byName } = mediaProfilesSchema.parse({ profiles: { tried: { preset: 'ultrafast', ...profile } } });
  const named = byName.get('tried');
  if (named === undefined) throw new Error('no profile');
  return named;
}
const ladder = [{ short_side: 180, bitrate: 60_000_000 }];

// At 50 frames a second nothing is taken for interlaced, and with BT.709 named nothing is converted.
const size = 's=320x180:r=50';
const tags = '-color_primaries bt709 -color_trc bt709 -colorspace bt709 -color_range tv';
const lossless = `-pix_fmt yuv420p -c:v libx264 -preset ultrafast -qp 0 ${tags} -t`;
/** Sources, and an SSIM and a VMAF within reach of each. */
const kinds = {
  'a moving test pattern': [`-f lavfi -i testsrc2=${size} ${lossless} 4`, 0.975, 93],
  grain: [
    `-f lavfi -i gradients=${size}:n=3:seed=4:speed=0.02 -vf noise=alls=22:allf=t:all_seed=5 ${lossless} 4`,
    0.95,
    86,
  ],
  'text on a screen': [
    `-f lavfi -i cellauto=s=160x90:r=5:rule=110:seed=3:scroll=1 -vf scale=320:180:flags=neighbor,fps=50 ${lossless} 4`,
    0.9985,
    93,
  ],
} as const;

/** The VMAF of a whole video. */
async function vmafOf(path: string, source: string): Promise<number> {
  const log = `${path}.json`;
  const graph = `[0:v]settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N[b];[a][b]libvmaf=log_fmt=json:log_path=${log}`;
  await runTool('vmaf', ['-v', 'error', '-i', path, '-i', source, '-lavfi', graph, '-f', 'null', '-']);
  const report = JSON.parse(await readFile(log, 'utf8')) as { pooled_metrics: { vmaf: { mean: number } } };
  return report.pooled_metrics.vmaf.mean;
}

describe('quality on target', () => {
  it.each(Object.entries(kinds))(
    'C16.10, C16.12: %s comes to the quality of the profile',
    async (name, [recipe, ssim, vmaf]) => {
      const source = await sample(`quality-${name.replaceAll(' ', '-')}.mkv`, recipe);
      const quality = hasVmaf ? { vmaf } : { ssim };
      const rig = await runnerRig('video:transcode', source, {}, profileOf({ ladder, quality }));
      const { video_tracks: tracks, warnings } = (await runToResult(rig)).results;
      expect(warnings).toEqual([]);
      const [track] = tracks;
      if (track?.quality === undefined) throw new Error('no quality');
      const path = await wholeTrack(rig, track);
      const achieved = hasVmaf ? await vmafOf(path, source) : await similarity(path, source);
      const [best, wanted] = hasVmaf ? [100, vmaf] : [1, ssim];
      const errorMax = hasVmaf ? vmafErrorMax / (best - wanted) : ssimErrorMax;
      const found = `${achieved} by ${JSON.stringify(track.quality)}`;
      expect(track.quality.measure).toBe(hasVmaf ? 'vmaf' : 'ssim');
      expect(errorOf(best - achieved, best - wanted), found).toBeLessThanOrEqual(errorMax);
      expect(errorOf(best - track.quality.score, best - achieved), found).toBeLessThanOrEqual(errorMax);
    },
  );

  it('C16.13: without libvmaf an SSIM stands for the VMAF, and the results say so', async () => {
    const source = await sample('quality-ssim.mkv', kinds['a moving test pattern'][0]);
    const rig = await runnerRig('video:transcode', source, {}, profileOf({ ladder, quality: { vmaf: 90 } }));
    const lacking = join(rig.dir, 'ffmpeg-vmaf');
    const program = findProgram('ffmpeg', process.env);
    const script = `#!/bin/sh\ncase "$*" in *-filters*) "${program}" "$@" | grep -v libvmaf;; *) exec "${program}" "$@";; esac\n`;
    await writeFile(lacking, script, { mode: 0o755 });
    const lackingEnv = { PATH: `${rig.dir}:${process.env['PATH']}` };
    const { video_tracks: tracks, warnings } = (await runToResult(rig, lackingEnv)).results;
    const [track] = tracks;
    if (track === undefined) throw new Error('no track');
    expect(warnings.map(({ code }) => code)).toEqual(['quality_by_ssim']);
    expect(track.quality?.measure).toBe('ssim');
    const achieved = await similarity(await wholeTrack(rig, track), source);
    expect(errorOf(1 - achieved, 1 - ssimTargetOf(90).score), `${achieved}`).toBeLessThanOrEqual(ssimErrorMax);
  });

  it('C16.11: a rung that looks like the one below is left out, and a report alone leaves all as they are', async () => {
    // Two colours that hardly move: whatever the seed, the smaller rung has all of it.
    const soft = '-f lavfi -i gradients=s=320x180:r=25:n=2:seed=7:speed=0.005';
    const source = await sample('quality-soft-two.mkv', `${soft} ${lossless} 3`);
    const rungs = [{ short_side: 90, bitrate: 5_000_000 }, ...ladder];
    const { results: aimed } = await runToResult(
      await runnerRig('video:transcode', source, {}, profileOf({ ladder: rungs, quality: { ssim: 0.97 } })),
    );
    expect(aimed.video_tracks.map(({ id }) => id)).toEqual(['r90_h264']);
    const { results: reported } = await runToResult(
      await runnerRig('video:transcode', source, {}, profileOf({ ladder: rungs, crf: 30, quality: { report: true } })),
    );
    expect(reported.video_tracks.map(({ quality }) => [quality?.measure, quality?.crf])).toEqual(
      reported.video_tracks.map(() => [hasVmaf ? 'vmaf' : 'ssim', 30]),
    );
  });

  it('C16.10: every chunk of a video is encoded with the CRF that was found for the video', async () => {
    const source = await sample('quality-long.mkv', `-f lavfi -i testsrc2=s=128x72:r=25 -g 50 ${lossless} 19`);
    const chunked = await makeChunked(source, {
      profile: profileOf({ ladder: [{ short_side: 72, bitrate: 5_000_000 }], quality: { ssim: 0.96 } }),
    });
    const [track] = chunked.results.video_tracks;
    const folder = join(chunked.rig.at(track?.playlist ?? ''), '..');
    const used = new Set<string>();
    for (const name of (await readdir(folder)).filter((each) => each.endsWith('.m4s'))) {
      // x264 writes its settings before the first frame of each encode.
      const [, crf] = /\bcrf=([\d.]+)/.exec(await readFile(join(folder, name), 'latin1')) ?? [];
      if (crf !== undefined) used.add(crf);
    }
    expect(chunked.split.chunk_frames).toHaveLength(3);
    // Another attempt finds the same CRF, and with it the same chunks.
    expect((await split(chunked.rig))?.rev).toBe(chunked.split.rev);
    expect(track?.quality).toMatchObject({ measure: 'ssim', score: expect.closeTo(0.96, 1) });
    expect([...used]).toEqual([track?.quality?.crf.toFixed(1)]);
  });
});
