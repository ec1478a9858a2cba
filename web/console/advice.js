// What to do about the error of a job: the column of docs/reference/errors.md, which a test compares.

/** @type {Record<string, string>} */
export const jobAdvice = {
  source_not_found: 'the caller uploads it and submits again',
  source_unreadable: 'check the source bucket and its key; then retry the jobs',
  source_changed: 'the caller writes each object once; retry',
  unsupported_media: 'the caller sends another format (media.md)',
  corrupt_input: 'the caller uploads it again; the log tail names the fault',
  no_video_stream: 'the caller submits another source, or a profile has audio_only: stream',
  timestamp_out_of_range: '–',
  limit_exceeded: 'raise MAX_FILE_SIZE, or the caller sends a smaller source',
  resource_exhausted: "raise the pool's memory limit or scratch; check LAST ERROR of kubectl get rp -o wide",
  preempted_too_often: 'move the pool to nodes that live longer, then retry',
  deadline_exceeded: 'raise activeDeadlineSeconds, or give the pods more CPU',
  storage_error: 'check the media bucket and its key; then retry the jobs',
  packager_error: 'read the log tail; report it when a second attempt fails in the same way',
  cancelled: 'nothing',
  internal: 'the log of the runner pod has the stack; a message "cannot work" names the missing tool',
};

/** '' where nothing is known or needed. @param {string} code */
export function adviceFor(code) {
  const text = jobAdvice[code] ?? '';
  return ['–', 'nothing', ''].includes(text) ? '' : `${text[0]?.toUpperCase()}${text.slice(1)}.`;
}
