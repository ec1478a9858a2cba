import type { ToolName } from '#platform/commands/find-program.ts';
import { runCommand } from '#platform/commands/run-command.ts';
import { abilityCommands, missingAbilities, parseAbilities } from '../tools/abilities.ts';

const timeoutMs = 60_000;

/**
 * Checks every tool that a step needs (`runner/main.ts check`); the build of the image fails where one is missing.
 *
 * @returns what is missing, one line each
 */
export async function checkTools(program: (tool: ToolName) => string): Promise<string[]> {
  const checks = [
    checkFfmpeg(program),
    output(program, 'ffprobe', ['-version']).then(() => []),
    output(program, 'packager', ['--version']).then(() => []),
    checkImages(),
  ];
  const settled = await Promise.allSettled(checks);
  return settled.flatMap((check) => (check.status === 'fulfilled' ? check.value : [String(check.reason)]));
}

async function checkFfmpeg(program: (tool: ToolName) => string): Promise<string[]> {
  const { filters, encoders } = abilityCommands('');
  const abilities = parseAbilities({
    filters: await output(program, 'ffmpeg', filters.args),
    encoders: await output(program, 'ffmpeg', encoders.args),
  });
  return missingAbilities(abilities, { isOwnImage: true });
}

/** Writes and reads an image of every format, since the libvips of this sharp may lack one. */
async function checkImages(): Promise<string[]> {
  const [{ imageFormats }, { encodeAs }, { sharp }] = await Promise.all([
    import('#domain/job-types/image-thumbnail.ts'),
    import('../tools/images.ts'),
    import('#platform/images/sharp.ts'),
  ]);
  const missing: string[] = [];
  for (const format of imageFormats) {
    const image = sharp({ create: { width: 16, height: 16, channels: 3, background: '#369' } });
    await encodeAs(image, format)
      .toBuffer()
      .then((bytes) => sharp(bytes).stats())
      .catch(() => missing.push(`sharp does not write and read ${format}`));
  }
  return missing;
}

async function output(program: (tool: ToolName) => string, tool: ToolName, args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderrTail } = await runCommand({ program: program(tool), args }, { timeoutMs });
  if (exitCode !== 0) throw new Error(`${tool} does not run: ${stderrTail.trim().split('\n').at(-1) ?? ''}`);
  return stdout;
}
