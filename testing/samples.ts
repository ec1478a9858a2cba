import { runCommand } from '#platform/commands/run-command.ts';
import { findProgram } from '#platform/commands/find-program.ts';

interface Sample {
  readonly path: string;
  readonly seconds: number;
  readonly width: number;
  readonly height: number;
}

/** Makes a video with a moving picture and a tone, in a second or two; needs ffmpeg. */
export async function makeVideo({ path, seconds, width, height }: Sample): Promise<void> {
  const picture = `testsrc2=size=${width}x${height}:rate=25:duration=${seconds}`;
  const tone = `sine=frequency=440:sample_rate=48000:duration=${seconds}`;
  const inputs = ['-f', 'lavfi', '-i', picture, '-f', 'lavfi', '-i', tone];
  const codecs = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac'];
  const made = await runCommand(
    {
      program: findProgram('ffmpeg', process.env),
      args: ['-v', 'error', '-nostdin', ...inputs, ...codecs, '-y', path],
    },
    { timeoutMs: 60_000, env: { PATH: process.env['PATH'] ?? '' } },
  );
  if (made.exitCode !== 0) throw new Error(`the sample could not be made: ${made.stderrTail}`);
}
