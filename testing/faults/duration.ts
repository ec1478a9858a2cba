import { runTool } from '../media.ts';

/** In seconds; 0 for what is no video. */
export async function durationOf(file: string): Promise<number> {
  const args = ['-v', 'error', '-show_entries', 'format=duration', '-of', 'csv=p=0', file];
  const printed = await runTool('ffprobe', args).catch(() => '0');
  return Number(printed) || 0;
}
