"""What answers over the network: registries of images, the model hub, addresses of files. Only `sparkiac lock` asks."""
