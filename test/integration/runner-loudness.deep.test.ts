import { afterAll, expect, it } from 'vitest';
import { sample } from '../../testing/media.ts';
import { removeRigs, runnerRig, runToResult } from '../../testing/runner.ts';

afterAll(removeRigs);

/** A stereo tone (EBU Tech 3341, "Minimum requirements test signals"): an amplitude of 10^(-23/20) has −23 LUFS. */
function tone(amplitude: number): string {
  return `-f lavfi -i aevalsrc=${amplitude}*sin(2*PI*997*t)|${amplitude}*sin(2*PI*997*t):s=48000:d=6`;
}

it('C14.9: each audio track has its loudness: a stereo tone of 997 Hz at −23 dBFS has −23 LUFS, silence has none', async () => {
  const source = await sample(
    'loudness.mkv',
    `-f lavfi -i testsrc2=s=64x64:r=25:d=6 ${tone(0.0708)} ${tone(0.2239)} -f lavfi -i anullsrc=r=48000:cl=stereo:d=6 ` +
      '-map 0 -map 1 -map 2 -map 3 -c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a flac',
  );
  const rig = await runnerRig('video:transcode', source);
  const [quiet, loud, silent] = (await runToResult(rig)).results.audio_tracks;
  expect(quiet?.loudness?.integrated_lufs).toBeCloseTo(-23, 0);
  expect(loud?.loudness?.integrated_lufs).toBeCloseTo(-13, 0);
  // The encoder overshoots where the tone begins.
  expect(Math.abs((loud?.loudness?.true_peak_dbtp ?? 0) + 13)).toBeLessThan(2);
  expect(silent?.loudness).toBeNull();
});
