import { rename } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { openRig, until } from '../../testing/controller-rig.ts';

it('C12.10: an attempt that cannot be started costs neither an attempt nor a disruption', async () => {
  const rig = await openRig();
  try {
    rig.startWorker();
    // A started worker has made its folder of workspaces.
    expect(await rig.finished(await rig.submit('ok'))).toMatchObject({ status: 'completed' });
    const { workDir } = rig.config;
    await rename(workDir, `${workDir}-away`);
    const id = await rig.submit('ok');
    const given = await until(
      () => rig.find(id),
      ({ phase }) => phase === 'admitted',
    );
    expect(given).toMatchObject({ status: 'processing', attempt: 1, failures: 0 });
    await rename(`${workDir}-away`, workDir);
    expect(await rig.finished(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
  } finally {
    await rig.close();
  }
}, 60_000);
