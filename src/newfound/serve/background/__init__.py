"""Work that takes long: jobs that write a model, and requests that read many texts. It runs in processes of its own."""
