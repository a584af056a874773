"""What newfound does, as functions with keywords: check, discover, update, review and refit, group, diff, predict, ...

Command line, server and Python call the same functions, which return a result; none prints, knows a flag or speaks
HTTP. They import torch only when they need it, so that wrong options and files are refused at once.

Several functions have these parameters:

- `encoder`: A short name, a folder, owner/name on the hub, or a loaded encoder. To functions about a model it says
  where the model's encoder lies, if it cannot be found.
- `device`: auto, cpu or cuda.
- `seed`: Same seed, same device: the same result.
- `effort`: quick, standard, best, or auto by device and data.
- `tune`: What trains: heads, last, last:K, upper, layers, all; auto leaves it to the effort.
- `llm`: A language model that may be asked for names. If None, nobody is asked.
- `namer`: A function that names new intents, from what is known of each (`NamingFacts`; docs/names.md).
- `read`: How files are read. `read_logs`: How the logs are read, where that differs.
- `conflicts`: What becomes of a known text with several labels: error, first (its first label is kept) or drop.
- `redact`: Mask e-mail addresses, card numbers, IBANs and telephone numbers first.
- `max_logs`: Distinct utterances of the logs that are looked at; of larger logs a random sample of this size.
- `overwrite`: Replace an earlier file or model at `out`.
- `reporter`: Is told the progress and what is unusual; by default the logger `newfound` is.
"""
