import type { ToolName } from '#platform/commands/find-program.ts';
import { runCommand } from '#platform/commands/run-command.ts';
import { abilityCommands, lacking, parseAbilities } from '../tools/abilities.ts';

const timeoutMs = 60_000;

/**
 * Looks at every tool that any step needs (`runner/main.ts check`); the image is not built where one is missing.
 *
 * @returns what is missing, one line each
 */
export async function checkTools(program: (tool: ToolName) => string): Promise<string[]> {
  const looks = [
    checkFfmpeg(program),
    output(program, 'ffprobe', ['-version']).then(() => []),
    output(program, 'packager', ['--version']).then(() => []),
    checkImages(),
  ];
  const settled = await Promise.allSettled(looks);
  return settled.flatMap((look) => (look.status === 'fulfilled' ? look.value : [String(look.reason)]));
}

async function checkFfmpeg(program: (tool: ToolName) => string): Promise<string[]> {
  const { filters, encoders } = abilityCommands('');
  const abilities = parseAbilities({
    filters: await output(program, 'ffmpeg', filters.args),
    encoders: await output(program, 'ffmpeg', encoders.args),
  });
  return lacking(abilities, { isOwnImage: true });
}

/** One image of every format is written and read, since sharp's library may lack one. */
async function checkImages(): Promise<string[]> {
  const [{ imageFormats }, { encodeAs, sharp }] = await Promise.all([
    import('#domain/job-types/image-thumbnail.ts'),
    import('../tools/images.ts'),
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
